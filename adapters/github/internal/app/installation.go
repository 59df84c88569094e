package app

import (
	"bytes"
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/fullsend-ai/discovery/adapters"
)

// Installation makes the tokens of one installation of a GitHub App. They last an hour; a new one is made a while before,
// or when the server refuses one. It is safe for concurrent use.
type Installation struct {
	REST    *url.URL
	HTTP    *http.Client
	Budget  adapters.Budget
	Now     func() time.Time
	AppID   int64
	ID      int64  // of the installation
	KeyFile string // the App's private key, PEM; read each time, so that it can be replaced

	mu    sync.Mutex
	text  string
	until time.Time
	skew  time.Duration // the server's clock less ours, as far as is known
}

// early is how long before its end a token is given up.
const early = 5 * time.Minute

// Token implements the client's credential.
func (i *Installation) Token(ctx context.Context) (string, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.text != "" && i.now().Before(i.until.Add(-early)) {
		return i.text, nil
	}
	text, until, err := i.make(ctx)
	if err != nil {
		return "", err
	}
	i.text, i.until = text, until
	return text, nil
}

// Refused forgets a token that the server did not take.
func (i *Installation) Refused(text string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.text == text {
		i.text = ""
	}
}

func (i *Installation) now() time.Time { return i.Now().Add(i.skew) }

const op = "make an installation token"

// make asks for a token; once more when the server does not take our idea of the time.
func (i *Installation) make(ctx context.Context) (string, time.Time, error) {
	key, err := i.key()
	if err != nil {
		return "", time.Time{}, &adapters.Error{Severity: adapters.ScopeFailure, Op: op, Err: err}
	}
	text, until, date, err := i.ask(ctx, key)
	if errors.Is(err, adapters.ErrUnauthorized) && !date.IsZero() {
		if d := date.Sub(i.Now()).Truncate(time.Second); (d - i.skew).Abs() > 30*time.Second {
			i.skew = d
			text, until, _, err = i.ask(ctx, key)
		}
	}
	return text, until, err
}

// maxKey bounds what is read of a key file.
const maxKey = 64 << 10

func (i *Installation) key() (*rsa.PrivateKey, error) {
	f, err := os.Open(i.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("private_key_file: %w", err)
	}
	defer f.Close()
	pem, err := io.ReadAll(io.LimitReader(f, maxKey))
	if err != nil {
		return nil, fmt.Errorf("private_key_file: %w", err)
	}
	key, err := jwt.ParseRSAPrivateKeyFromPEM(pem)
	if err != nil {
		return nil, errors.New("private_key_file holds no RSA private key in PEM") // the cause might quote it
	}
	return key, nil
}

func (i *Installation) ask(ctx context.Context, key *rsa.PrivateKey) (text string, until, date time.Time, err error) {
	fail := func(sev adapters.Severity, status int, after time.Duration, cause error) (string, time.Time, time.Time, error) {
		return "", time.Time{}, date, &adapters.Error{Severity: sev, Op: op, Status: status, After: after, Err: cause}
	}
	signed, err := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.RegisteredClaims{
		Issuer:    strconv.FormatInt(i.AppID, 10),
		IssuedAt:  jwt.NewNumericDate(i.now().Add(-time.Minute)), // clocks differ
		ExpiresAt: jwt.NewNumericDate(i.now().Add(8 * time.Minute)),
	}).SignedString(key)
	if err != nil {
		return fail(adapters.ScopeFailure, 0, 0, errors.New("the App's token cannot be signed"))
	}
	if err := i.Budget.Wait(ctx, adapters.Identity, 1); err != nil {
		var e *adapters.Error
		if errors.As(err, &e) {
			return "", time.Time{}, date, err
		}
		return fail(adapters.MomentFailure, 0, 0, err)
	}
	cut, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	target := i.REST.JoinPath("app", "installations", strconv.FormatInt(i.ID, 10), "access_tokens")
	req, err := http.NewRequestWithContext(cut, http.MethodPost, target.String(), bytes.NewReader([]byte("{}")))
	if err != nil {
		return fail(adapters.ScopeFailure, 0, 0, errors.New("request cannot be built"))
	}
	req.Header.Set("Accept", "application/vnd.github+json")
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "fullsend-discovery")
	req.Header.Set("Authorization", "Bearer "+signed)
	h := http.Client{}
	if i.HTTP != nil {
		h = *i.HTTP
	}
	h.Jar = nil
	h.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := h.Do(req)
	if err != nil {
		i.Budget.Observe(adapters.Identity, 0, nil)
		if ctx.Err() != nil {
			return fail(adapters.MomentFailure, 0, 0, ctx.Err())
		}
		return fail(adapters.MomentFailure, 0, 0, fmt.Errorf("%w: no answer", adapters.ErrUnavailable))
	}
	defer resp.Body.Close()
	i.Budget.Observe(adapters.Identity, resp.StatusCode, resp.Header)
	date, _ = http.ParseTime(resp.Header.Get("Date")) // the zero time when there is none
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return fail(adapters.MomentFailure, resp.StatusCode, 0, fmt.Errorf("%w: the answer broke off", adapters.ErrUnavailable))
	}
	after := adapters.RetryAfter(resp.Header, i.Now())
	switch s := resp.StatusCode; {
	case s == http.StatusCreated:
	case s == http.StatusUnauthorized:
		return fail(adapters.ScopeFailure, s, 0, fmt.Errorf("%w: is %s the private key of App %d?", adapters.ErrUnauthorized, "private_key_file", i.AppID))
	case s == http.StatusNotFound:
		return fail(adapters.ScopeFailure, s, 0, fmt.Errorf("%w: App %d has no installation %d", adapters.ErrNotFound, i.AppID, i.ID))
	case s == http.StatusTooManyRequests, s == http.StatusForbidden && (after > 0 || resp.Header.Get("X-RateLimit-Remaining") == "0"):
		return fail(adapters.MomentFailure, s, max(after, time.Minute), adapters.ErrThrottled)
	case s == http.StatusForbidden:
		return fail(adapters.ScopeFailure, s, 0, fmt.Errorf("%w: the installation may be suspended", adapters.ErrForbidden))
	case s >= 500:
		return fail(adapters.MomentFailure, s, after, adapters.ErrUnavailable)
	default:
		return fail(adapters.ScopeFailure, s, 0, adapters.ErrProtocol)
	}
	var t struct {
		Token   string    `json:"token"`
		Expires time.Time `json:"expires_at"`
	}
	if mt, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || mt != "application/json" ||
		json.Unmarshal(body, &t) != nil || t.Token == "" || t.Expires.IsZero() {
		return fail(adapters.MomentFailure, resp.StatusCode, 0, fmt.Errorf("%w: no token in the answer", adapters.ErrProtocol))
	}
	if !date.IsZero() {
		i.skew = date.Sub(i.Now()).Truncate(time.Second)
	}
	return t.Token, t.Expires, date, nil
}
