package store

import "github.com/gavel-ads/gavel/shard"

// UsersOf is usersOf.
func (s *Store) UsersOf(p *shard.OpenPurchase) ([]uint64, error) { return s.usersOf(p) }
