package acmecert

import "context"

// Order makes one attempt to get certificates for all hosts, and returns those that failed.
func (m *Manager) Order(ctx context.Context) []string { return m.order(ctx, m.hosts, retryMin) }
