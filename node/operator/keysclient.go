package operator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"
)

// ErrNotRunning means that no node serves the socket of a data directory.
var ErrNotRunning = errors.New("no running node serves this data directory")

// LocalClient is the Local of a running node, called through the socket in its data directory. Every method returns
// ErrNotRunning when nobody answers there.
type LocalClient struct{ DataDir string }

// CreateKey creates a key.
func (c LocalClient) CreateKey(ctx context.Context, marketplace string, r KeyRequest) (k Key, err error) {
	return k, c.call(ctx, http.MethodPost, keysPath, marketplace, r, &k)
}

// ListKeys lists the keys, newest first.
func (c LocalClient) ListKeys(ctx context.Context, marketplace string) (all []Key, err error) {
	return all, c.call(ctx, http.MethodGet, keysPath, marketplace, nil, &all)
}

// RevokeKey revokes a key.
func (c LocalClient) RevokeKey(ctx context.Context, marketplace, id string) error {
	return c.call(ctx, http.MethodDelete, keysPath+"/"+url.PathEscape(id), marketplace, nil, &struct{}{})
}

func (c LocalClient) call(ctx context.Context, method, path, marketplace string, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	resp, err := c.send(ctx, method, path+"?marketplace="+url.QueryEscape(marketplace), bytes.NewReader(text))
	if err != nil {
		return err
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, answerMax))
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return refusal(resp.Status, answer)
	}
	return json.Unmarshal(answer, into)
}

// send sends a request through the socket. The caller closes the body of the answer.
func (c LocalClient) send(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://local"+path, body) //nolint:gosec // Over the node's own socket.
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", LocalSocketPath(c.DataDir))
	}}
	resp, err := (&http.Client{Transport: transport}).Do(r) //nolint:gosec // Over the node's own socket.
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOTDIR):
		return nil, ErrNotRunning
	case errors.Is(err, os.ErrPermission):
		return nil, errors.Join(errors.New("only root and the user of the node may use its socket"), err)
	}
	return resp, err
}
