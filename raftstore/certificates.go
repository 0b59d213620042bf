package raftstore

import "time"

// ReloadCertificates reads the files of the peers' TLS again, for the next handshake. Without it a changed file is used
// about a second later. After an error, which is logged, the old certificates stay in use.
func (s *Store) ReloadCertificates() {
	if s.credentials != nil {
		s.credentials.Reload()
	}
}

// CertificateNotAfter returns when this node's certificate for its peers expires; false without TLS between peers.
func (s *Store) CertificateNotAfter() (time.Time, bool) {
	if s.credentials == nil {
		return time.Time{}, false
	}
	return s.credentials.NotAfter(), true
}
