package operator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Client calls the operator API of a node.
type Client struct {
	URL string // URL of the management listener; http:// may be omitted.
	Key string // A management key of the cluster's first marketplace.
}

const answerMax = 4 << 20 // BOUND: bytes read of an answer.

// Status returns the state of the cluster.
func (c Client) Status(ctx context.Context) (s Status, err error) {
	return s, c.call(ctx, http.MethodGet, "", nil, &s)
}

// Admit allows a node to join as a non-voter, also one that was removed.
func (c Client) Admit(ctx context.Context, node, address string) error {
	return c.call(ctx, http.MethodPost, "/nodes", AdmitRequest{node, address}, nil)
}

// Remove removes a node from the cluster.
func (c Client) Remove(ctx context.Context, node string) error {
	return c.call(ctx, http.MethodDelete, "/nodes/"+url.PathEscape(node), nil, nil)
}

// Promote makes a non-voter a voter.
func (c Client) Promote(ctx context.Context, node string) error {
	return c.call(ctx, http.MethodPost, "/nodes/"+url.PathEscape(node)+"/promote", nil, nil)
}

// Transfer moves the leadership of a group.
func (c Client) Transfer(ctx context.Context, group uint16, node string) error {
	return c.call(ctx, http.MethodPost, "/transfer", TransferRequest{group, node}, nil)
}

// Drain transfers everything that the called node leads to other nodes.
func (c Client) Drain(ctx context.Context) error {
	return c.call(ctx, http.MethodPost, "/drain", nil, nil)
}

func (c Client) call(ctx context.Context, method, path string, body, into any) error {
	return c.callAt(ctx, method, Base+path, body, into)
}

// callAt is call for a path that is not below Base.
func (c Client) callAt(ctx context.Context, method, path string, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := c.requestAt(ctx, method, path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
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
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer, into)
}

func (c Client) request(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	return c.requestAt(ctx, method, Base+path, body)
}

// requestAt is request for a path that is not below Base.
func (c Client) requestAt(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	base := strings.TrimRight(c.URL, "/")
	if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	r, err := http.NewRequestWithContext(ctx, method, base+path, body)
	if err == nil {
		r.Header.Set("Authorization", "Bearer "+c.Key)
	}
	return r, err
}

// refusal returns the error for an answer with another status than 200.
func refusal(status string, answer []byte) error {
	var body struct {
		ErrCode string `json:"errCode"`
		Message string `json:"message"`
	}
	if json.Unmarshal(answer, &body) != nil || body.Message == "" {
		return fmt.Errorf("the node answered %s", status)
	}
	return fmt.Errorf("the node answered %s: %s", status, body.Message)
}
