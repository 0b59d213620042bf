package manage

// Patterns are the patterns of all routes but those that take login sessions.
func (s *Server) Patterns() []string { return s.patterns(false) }

// SessionPatterns are the patterns of the routes that take login sessions.
func (s *Server) SessionPatterns() []string { return s.patterns(true) }

func (s *Server) patterns(session bool) (all []string) {
	for _, rt := range s.routes.all() {
		if (rt.session != nil) == session {
			all = append(all, rt.pattern)
		}
	}
	return all
}
