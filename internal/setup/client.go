package setup

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/forgejo"
	"github.com/fullsend-ai/discovery/adapters/github"
	"github.com/fullsend-ai/discovery/adapters/gitlab"
	"github.com/fullsend-ai/discovery/adapters/jira"
	"github.com/fullsend-ai/discovery/internal/config"
)

// Registry is every adapter of this build.
func Registry() config.Registry {
	reg := config.Registry{}
	for _, a := range []adapters.Adapter{forgejo.Adapter{}, github.Adapter{}, gitlab.Adapter{}, jira.Adapter{}} {
		reg[a.Provider()] = a
	}
	return reg
}

// Client carries requests to providers. Every phase has a time limit, so that a provider that accepts and never answers
// ends a request and not the poller; adapters limit the body themselves.
func Client() *http.Client {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Client{
		Timeout: 2 * time.Minute,
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           dialer.DialContext,
			ForceAttemptHTTP2:     true,
			MaxIdleConnsPerHost:   8,
			IdleConnTimeout:       90 * time.Second,
			TLSHandshakeTimeout:   10 * time.Second,
			ResponseHeaderTimeout: time.Minute,
		},
	}
}

// token reads the credential from the environment at each use, so that a rotated one is taken up. It is trimmed, since a
// line break at its end is the usual mistake of a secret store.
func token(name string, getenv func(string) (string, bool)) func(context.Context) (string, error) {
	return func(context.Context) (string, error) {
		if name == "" {
			return "", nil
		}
		v, ok := getenv(name)
		if v = strings.TrimSpace(v); !ok || v == "" {
			return "", fmt.Errorf("environment variable %s is not set: it must hold the provider's token", name)
		}
		return v, nil
	}
}
