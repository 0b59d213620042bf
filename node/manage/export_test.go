package manage

import (
	"maps"
	"slices"
)

// Patterns are the patterns of all routes.
func (s *Server) Patterns() []string { return slices.Sorted(maps.Keys(s.routes.byPattern)) }
