package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
)

// grpcConn is one connection with gRPC over HTTP/2 without TLS, with one call at a time.
type grpcConn struct {
	http  *http.Client
	base  string
	frame []byte
}

func dialGRPC(address string) *grpcConn {
	t := &http.Transport{DisableCompression: true, Protocols: new(http.Protocols)}
	t.Protocols.SetUnencryptedHTTP2(true)
	return &grpcConn{http: &http.Client{Transport: t, Timeout: exchangeMax}, base: "http://" + address}
}

func (c *grpcConn) close() { c.http.CloseIdleConnections() }

// answerMax bounds an answer. BOUND: etcd's own limit is 2 GiB; the largest that is asked for here is all budgets.
const answerMax = 64 << 20

// call makes one call with an encoded message and returns the encoded answer.
func (c *grpcConn) call(method string, message []byte) ([]byte, error) {
	c.frame = append(c.frame[:0], 0) // Not compressed.
	c.frame = append(binary.BigEndian.AppendUint32(c.frame, uint32(len(message))), message...)
	req, err := http.NewRequest(http.MethodPost, c.base+method, bytes.NewReader(c.frame))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/grpc")
	req.Header.Set("TE", "trailers")
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // It has been read, or an error is returned.
	answer, err := io.ReadAll(io.LimitReader(resp.Body, answerMax))
	if err != nil {
		return nil, err
	}
	status, text := resp.Trailer.Get("Grpc-Status"), resp.Trailer.Get("Grpc-Message")
	if status == "" { // An answer without a message has its status in the header.
		status, text = resp.Header.Get("Grpc-Status"), resp.Header.Get("Grpc-Message")
	}
	if resp.StatusCode != http.StatusOK || status != "0" {
		return nil, fmt.Errorf("%s answered %d, gRPC status %q: %s", method, resp.StatusCode, status, text)
	}
	if len(answer) < 5 || answer[0] != 0 || int(binary.BigEndian.Uint32(answer[1:])) != len(answer)-5 {
		return nil, errProtocol
	}
	return answer[5:], nil
}
