package main

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"sort"
	"strings"
	"sync"
	"testing"
)

// etcdServer is a store with etcd's transactions, over gRPC.
type etcdServer struct {
	mu       sync.Mutex
	keys     map[string]etcdKey
	revision uint64
}

type etcdKey struct {
	value           string
	create, changed uint64
}

func startEtcdServer(t *testing.T) (s *etcdServer, address string) {
	t.Helper()
	s = &etcdServer{keys: map[string]etcdKey{}, revision: 1}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: s, Protocols: new(http.Protocols)}
	server.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return s, l.Addr().String()
}

func (s *etcdServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	frame, err := io.ReadAll(r.Body)
	status := "0"
	w.Header().Set("Trailer", "Grpc-Status, Grpc-Message")
	var answer []byte
	switch {
	case err != nil || r.ProtoMajor != 2 || r.Header.Get("Content-Type") != "application/grpc" || len(frame) < 5:
		status = "3"
	case r.URL.Path == methodPut:
		key, value := twoTexts(frame[5:])
		s.revision++
		s.write(key, value)
	case r.URL.Path == methodTxn:
		answer = s.transact(frame[5:])
	case r.URL.Path == methodRange:
		answer = s.list(frame[5:])
	default:
		status = "12"
	}
	answer = append(appendField(nil, 1, appendNumber(nil, 3, int64(s.revision))), answer...)
	if status == "0" {
		_, _ = w.Write(append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(answer))), answer...))
	}
	w.Header().Set("Grpc-Status", status)
	w.Header().Set("Grpc-Message", "a message")
}

// twoTexts reads fields 1 and 2.
func twoTexts(message []byte) (first, second string) {
	eachField(message, func(field int, _ uint64, text []byte) {
		switch field {
		case 1:
			first = string(text)
		case 2:
			second = string(text)
		}
	})
	return first, second
}

// write writes a key at the current revision.
func (s *etcdServer) write(key, value string) {
	k, found := s.keys[key]
	if !found {
		k.create = s.revision
	}
	k.value, k.changed = value, s.revision
	s.keys[key] = k
}

func (s *etcdServer) transact(request []byte) []byte {
	holds, writes := true, [][2]string{}
	eachField(request, func(field int, _ uint64, part []byte) {
		switch field {
		case 1:
			holds = holds && s.compare(part)
		case 2:
			eachField(part, func(_ int, _ uint64, put []byte) {
				key, value := twoTexts(put)
				writes = append(writes, [2]string{key, value})
			})
		}
	})
	if !holds {
		return nil
	}
	s.revision++
	for _, w := range writes {
		s.write(w[0], w[1])
	}
	return appendNumber(nil, 2, 1)
}

func (s *etcdServer) compare(part []byte) bool {
	var target, create, changed uint64
	var key string
	eachField(part, func(field int, number uint64, text []byte) {
		switch field {
		case 2:
			target = number
		case 3:
			key = string(text)
		case fieldCreate:
			create = number
		case fieldMod:
			changed = number
		}
	})
	k := s.keys[key]
	return target == targetCreate && k.create == create || target == targetMod && k.changed == changed
}

func (s *etcdServer) list(request []byte) (answer []byte) {
	from, to := twoTexts(request)
	onlyCount := false
	eachField(request, func(field int, number uint64, _ []byte) { onlyCount = onlyCount || field == 9 && number == 1 })
	var keys []string
	for key := range s.keys {
		if key >= from && key < to {
			keys = append(keys, key)
		}
	}
	sort.Strings(keys)
	for _, key := range keys {
		if !onlyCount {
			answer = appendField(answer, 2, appendField(appendField(nil, 1, []byte(key)), 5, []byte(s.keys[key].value)))
		}
	}
	return appendNumber(answer, 4, int64(len(keys)))
}

// A request is one transaction: it writes its events and its budgets when none of the events exists. The peer's own count follows.
func TestEtcdClient(t *testing.T) {
	server, address := startEtcdServer(t)
	p := &etcd{clients: []string{address}}
	for i, n := range []int{1, 50, 50} {
		c, err := p.dial(i)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if charged, err := c.charge(n); err != nil || charged != n {
				t.Errorf("%d events: %d charged, %v", n, charged, err)
			}
		}
		if err := c.repeat(); err != nil {
			t.Error(err)
		}
		c.close()
	}
	const want = 3*1 + 6*50
	if got, err := p.count(t.Context()); err != nil || got != (counts{want, want}) {
		t.Errorf("%+v %v, want %d of both", got, err, want)
	}
	for key := range server.keys {
		if strings.HasPrefix(key, eventsFrom) {
			delete(server.keys, key) // Whoever loses an event charges its repeat.
		}
	}
	if got, err := p.count(t.Context()); err != nil || got != (counts{0, want}) {
		t.Errorf("%+v %v without the events", got, err)
	}
}

// A budget that somebody else has changed makes the transaction fail, so nothing is charged.
func TestEtcdBudgetThatWasChanged(t *testing.T) {
	server, address := startEtcdServer(t)
	c, err := (&etcd{clients: []string{address}}).dial(0)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	server.mu.Lock()
	server.revision++
	for key := range server.keys {
		server.write(key, "0")
	}
	server.mu.Unlock()
	if charged, err := c.charge(8); err != nil || charged != 0 {
		t.Errorf("%d charged, %v", charged, err)
	}
}

func TestGRPCErrors(t *testing.T) {
	_, address := startEtcdServer(t)
	c := dialGRPC(address)
	defer c.close()
	if _, err := c.call("/none", nil); err == nil || !strings.Contains(err.Error(), `status "12": a message`) {
		t.Errorf("got %v", err)
	}
}

func TestDamagedMessages(t *testing.T) {
	whole := appendNumber(appendField(nil, 1, []byte("key")), 2, 300)
	var fields []int
	if !eachField(whole, func(field int, _ uint64, _ []byte) { fields = append(fields, field) }) || len(fields) != 2 {
		t.Errorf("fields %v", fields)
	}
	for i := 1; i < len(whole); i++ {
		if i != 5 && eachField(whole[:i], func(int, uint64, []byte) {}) {
			t.Errorf("the first %d bytes of %x are read as a message", i, whole)
		}
	}
	if eachField(bytes.Repeat([]byte{0xff}, 20), func(int, uint64, []byte) {}) {
		t.Error("a number of 20 bytes is read")
	}
}
