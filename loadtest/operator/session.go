package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// The first admin of the nodes that this command starts.
const (
	adminEmail    = "ada@example.com"
	adminPassword = "correct horse battery staple"
	consoleAPI    = "/console/api"
)

// adminSettings returns the settings that make the first admin. The file with the password is in a new directory below parent, which the
// caller removes.
func adminSettings(parent string) (settings []string, dir string, err error) {
	if dir, err = os.MkdirTemp(parent, "admin-"); err != nil {
		return nil, "", err
	}
	file := filepath.Join(dir, "password")
	if err := os.WriteFile(file, []byte(adminPassword+"\n"), 0o600); err != nil {
		return nil, "", errors.Join(err, os.RemoveAll(dir))
	}
	return []string{"--admin-email", adminEmail, "--admin-password-file", file}, dir, nil
}

// session is a browser at the console: it keeps the cookie of its login session, which every node of a cluster accepts. It belongs to one
// goroutine, unless only requests are sent whose answers set no cookie.
type session struct {
	client *http.Client
	cookie *http.Cookie // Nil: nobody is signed in.
}

func newSession() *session { return &session{client: &http.Client{Timeout: 30 * time.Second}} }

// send sends a request and keeps the cookie of its answer. The error says that there was no answer.
func (s *session) send(ctx context.Context, method, url, body string) (status int, answer []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if s.cookie != nil {
		r.AddCookie(s.cookie)
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	answer, err = io.ReadAll(resp.Body)
	_ = resp.Body.Close() // It was read to its end, or the error says why not.
	for _, c := range resp.Cookies() {
		s.cookie = c
	}
	return resp.StatusCode, answer, err
}

// must sends a request that has to succeed and decodes its answer into out unless out is nil.
func (s *session) must(ctx context.Context, method, url, body string, out any) error {
	status, answer, err := s.send(ctx, method, url, body)
	switch {
	case err != nil:
		return err
	case status/100 != 2:
		return fmt.Errorf("%s %s answered %d: %.300s", method, url, status, answer)
	case out == nil:
		return nil
	}
	return json.Unmarshal(answer, out)
}

// signIn begins a login session at the node with a base URL.
func signIn(ctx context.Context, base, email, password string) (*session, error) {
	s := newSession()
	return s, s.must(ctx, "POST", base+consoleAPI+"/session", fmt.Sprintf(`{"email":%q,"password":%q}`, email, password), nil)
}

// invite invites a person to a role, who accepts at the same node. It returns the session of that person and the id of the user.
func (s *session) invite(ctx context.Context, base, email, role, password string) (*session, string, error) {
	var invitation struct{ AcceptURL string }
	body := fmt.Sprintf(`{"email":%q,"role":%q}`, email, role)
	if err := s.must(ctx, "POST", base+consoleAPI+"/users", body, &invitation); err != nil {
		return nil, "", err
	}
	_, token, _ := strings.Cut(invitation.AcceptURL, "#token=")
	invited := newSession()
	var answer struct{ User struct{ ID string } }
	body = fmt.Sprintf(`{"token":%q,"name":"Invited","password":%q}`, token, password)
	err := invited.must(ctx, "POST", base+consoleAPI+"/invitations/accept", body, &answer)
	return invited, answer.User.ID, err
}
