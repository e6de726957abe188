"""Which keys belong to which agents, by the reviewed code branch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopx_git.client.code_branch import reviewed

if TYPE_CHECKING:
    from loopx_git.client.base import BaseClient

FILE = ".loopx/allowed_signers"


def reviewed_signers(client: BaseClient) -> bytes | None:
    """.loopx/allowed_signers of the code branch; None where there is none. InvalidState when it is too
    large."""
    return reviewed(client, FILE)[0]
