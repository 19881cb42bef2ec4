package cloud

type connectGrant struct{}

type checkpoint struct{}

func (s *Server) loadExtras() error { return nil }

func (s *Server) connectToken(string) *principal { return nil }

func (s *Server) credentialsThere(*record) error { return nil }

func (s *Server) placeholders(*record) []string { return nil }
