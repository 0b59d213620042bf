package creative_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-ads/gavel/node/manage/managetest"
)

// idle is a body from which nothing arrives. It reports that a read waits for it.
type idle struct {
	once    sync.Once
	waiting chan<- struct{}
	end     <-chan struct{}
}

func (i *idle) Read([]byte) (int, error) {
	i.once.Do(func() { i.waiting <- struct{}{} })
	<-i.end
	return 0, io.ErrUnexpectedEOF
}

// TestIdleUploadsWithoutAForm: uploads that have sent no form do not count towards the bound of uploads.
func TestIdleUploadsWithoutAForm(t *testing.T) {
	w := managetest.New(t)
	a := create(t, w, "text/vtt")
	const many = 40
	waiting, end := make(chan struct{}, many), make(chan struct{})
	var all sync.WaitGroup
	defer all.Wait()
	defer close(end)
	for range many {
		all.Go(func() {
			r := httptest.NewRequest("POST", "/uploads/assets/nobody", &idle{waiting: waiting, end: end})
			r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
			w.ServeHTTP(httptest.NewRecorder(), r)
		})
	}
	for range many {
		<-waiting
	}
	if rec := post(t, w, a.UploadURL, a.Fields, bytes.NewReader(files(t)["text/vtt"]), nil); rec.Code != 204 {
		t.Errorf("an upload beside %d idle ones: %d %s", many, rec.Code, rec.Body)
	}
}

// stalled begins uploads with valid forms whose files do not arrive, and returns when all of them are accepted or refused, with the
// refusals.
func stalled(t *testing.T, w *managetest.Environment, n int) (refused []*httptest.ResponseRecorder, release func()) {
	t.Helper()
	type outcome struct{ rec *httptest.ResponseRecorder }
	waiting, end, ended := make(chan struct{}, n), make(chan struct{}), make(chan outcome, n)
	for range n {
		a := create(t, w, "text/vtt")
		var form bytes.Buffer
		m := multipart.NewWriter(&form)
		for name, value := range a.Fields {
			_ = m.WriteField(name, value)
		}
		_, _ = m.CreateFormFile("file", "a.vtt")
		// The parts come with a whole buffer of the reader, so that it reads on only for the file.
		r := httptest.NewRequest("POST", strings.TrimPrefix(a.UploadURL, managetest.PublicURL), io.MultiReader(&form, &idle{waiting: waiting, end: end}))
		r.Header.Set("Content-Type", m.FormDataContentType())
		r.Header.Set("Expect", "100-continue") // A refused body is not read.
		go func() {
			rec := httptest.NewRecorder()
			w.ServeHTTP(rec, r)
			ended <- outcome{rec}
		}()
		select {
		case <-waiting:
		case o := <-ended:
			refused = append(refused, o.rec)
		}
	}
	return refused, func() {
		close(end)
		for range n - len(refused) {
			<-ended
		}
	}
}

// TestUploadsOfAMarketplace: stalled uploads of one marketplace take at most half of the bound. The others get a 503, their forms
// stay valid, and nothing of them is left.
func TestUploadsOfAMarketplace(t *testing.T) {
	w := managetest.New(t)
	refused, release := stalled(t, w, 10)
	if len(refused) != 2 {
		t.Errorf("%d of 10 uploads of one marketplace were refused, want 2", len(refused))
	}
	for _, rec := range refused {
		if rec.Code != 503 || rec.Header().Get("Retry-After") == "" || !strings.Contains(rec.Body.String(), "service_unavailable") ||
			!strings.Contains(rec.Body.String(), "8 uploads") {
			t.Errorf("refused: %d %v %s", rec.Code, rec.Header(), rec.Body)
		}
	}
	release()
	a := create(t, w, "text/vtt")
	if code := upload(t, w, a.UploadURL, a.Fields, bytes.NewReader(files(t)["text/vtt"])); code != 204 {
		t.Errorf("after they ended: %d", code)
	}
	if names := stored(t, w); len(names) != 1 {
		t.Errorf("files of uploads that did not end well stay: %v", names)
	}
}

// pipes is a listener for connections in memory.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, open := <-p
	if !open {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// TestSlowUpload: a file of which one byte arrives each second is refused with an answer that says why.
func TestSlowUpload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := managetest.New(t)
		a := create(t, w, "text/vtt")
		server, client := net.Pipe()
		connections, serving := make(pipes, 1), w.HTTP()
		connections <- server
		go func() { _ = serving.Serve(connections) }()

		var form bytes.Buffer
		m := multipart.NewWriter(&form)
		for name, value := range a.Fields {
			_ = m.WriteField(name, value)
		}
		_, _ = m.CreateFormFile("file", "a.vtt")
		began := time.Now()
		go func() {
			fmt.Fprintf(client, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nContent-Length: 1000000\r\n\r\n%s",
				strings.TrimPrefix(a.UploadURL, managetest.PublicURL), m.FormDataContentType(), form.String())
			for {
				if _, err := client.Write([]byte("x")); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		}()
		res, err := http.ReadResponse(bufio.NewReader(client), nil)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if took := time.Since(began); res.StatusCode != 400 || !strings.Contains(string(body), "slower than 16384 bytes a second") || took > time.Minute {
			t.Errorf("after %v: %d %s", took, res.StatusCode, body)
		}
		now, _ := callAsset(t, w, "GET", base+"/"+a.ID, "")
		if now.Status != "upload_error" || !strings.Contains(now.Reason, "slower than") {
			t.Errorf("the asset: %+v", now)
		}
		if names := stored(t, w); len(names) > 0 {
			t.Errorf("files stay: %v", names)
		}
		_ = client.Close()
		close(connections)
		_ = serving.Close()
		time.Sleep(time.Hour) // The goroutines of the connection end.
	})
}
