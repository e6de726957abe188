"""What a ledger is, between bytes and git: trees and snapshots, commands replayed and encoded, commits validated."""
