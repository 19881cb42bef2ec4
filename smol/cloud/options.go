package cloud

import (
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"
)

// DefaultURL is where the service is.
const DefaultURL = "https://api.smolmachines.com"

// defaultDialTimeout bounds one attempt to connect.
const defaultDialTimeout = 10 * time.Second

// Options say how to reach the service and who asks. They are copied by [New] and never written. Printing them does not print the key.
type Options struct {
	// Token is the key, which is required: an API key (smk_...), made at https://smolmachines.com/console/keys, or the token of a login.
	Token string `json:"-"`
	// URL is where the service is: https, or http on this host's loopback. Empty: [DefaultURL].
	URL string
	// Tenant is the organization that a login acts in. Empty: the login's own. A key acts in the account that made it whatever this says.
	Tenant string
	// CAFile is a file with certificates in PEM that are trusted as well as those of RootCAs. Empty: none.
	CAFile string
	// RootCAs are the certificates to trust. Nil: the system's.
	RootCAs *x509.CertPool
	// Proxy says which proxy a request goes through, as in [http.Transport]. Nil: what the environment says (HTTPS_PROXY, NO_PROXY), or the
	// proxy of HTTPClient if that is set. Requests to the loopback go through none.
	Proxy func(*http.Request) (*url.URL, error)
	// DialTimeout bounds one attempt to connect. Zero: 10 seconds. It does not apply to HTTPClient.
	DialTimeout time.Duration
	// HTTPClient lends its Transport and its Timeout. It is not written: an [http.Transport] is cloned, another RoundTripper is used as it is,
	// and then CAFile, RootCAs and Proxy have to be empty. Its Jar and CheckRedirect are not used. Beware of a Timeout: it bounds the streams
	// and transfers too. Nil: a transport of our own without time limits.
	HTTPClient *http.Client
	// Wrap, if it is not nil, is given the transport and returns the one to use, for example to trace requests. It sees each try, and the key.
	Wrap func(http.RoundTripper) http.RoundTripper
}

// String returns what can be printed: all but the key.
func (o Options) String() string {
	token := "no token"
	if o.Token != "" {
		token = "token set"
	}
	return fmt.Sprintf("cloud.Options{%s, %s}", o.baseURL(), token)
}

// GoString returns what String does, for %#v.
func (o Options) GoString() string { return o.String() }

// LogValue gives slog what can be printed.
func (o Options) LogValue() slog.Value {
	return slog.GroupValue(slog.String("url", o.baseURL()), slog.Bool("token", o.Token != ""))
}

func (o *Options) baseURL() string {
	if o.URL == "" {
		return DefaultURL
	}
	return o.URL
}
