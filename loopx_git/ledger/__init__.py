"""The ledger, between bytes and git: trees and snapshots; commands replayed and encoded; commits validated."""
