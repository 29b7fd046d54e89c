package httpapi

import (
	"context"
	"testing"
)

// The cookie is for https alone where people come by https, also to a proxy.
func TestTheCookieIsSecureBehindHTTPS(t *testing.T) {
	s := &Server{}
	for _, https := range []bool{true, false} {
		ctx := context.WithValue(t.Context(), httpsKey{}, https)
		if got := s.cookie(ctx, "x", 1).Secure; got != https {
			t.Errorf("https %v: Secure = %v", https, got)
		}
	}
}
