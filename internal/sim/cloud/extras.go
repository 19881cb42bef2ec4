package cloud

type connectGrant struct{}

func (s *Server) loadExtras() error { return s.loadPoints() }

func (s *Server) connectToken(string) *principal { return nil }

func (s *Server) credentialsThere(*record) error { return nil }

func (s *Server) placeholders(*record) []string { return nil }
