package shard

// LimitUnknownProducts replaces UnknownProductsMax, so that a few products reach it.
func (m *Machine) LimitUnknownProducts(n int) { m.unknownMax = n }
