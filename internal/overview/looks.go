// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"fmt"
	"math"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"github.com/vigil-monitor/vigil"
)

// The backgrounds of status pages, and the contrast that text needs on them (WCAG 2.2, 1.4.3).
const (
	lightBackground = "#ffffff"
	darkBackground  = "#0f1114"
	leastContrast   = 4.5
)

var accentForm = regexp.MustCompile(`^#[0-9a-f]{6}$`)

// ParseAccent reads a color of a page: # and six hexadecimal digits, or an empty text. A color that is
// too light to be read on white is a vigil.CodeInvalid error, which says the contrast that it has.
// On a dark background a page shows it lightened, see DarkAccent.
func ParseAccent(text string) (string, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	if text == "" {
		return "", nil
	}
	if !accentForm.MatchString(text) {
		return "", vigil.Invalid("accent", "must be # and six hexadecimal digits, such as #0f5fa8")
	}
	if has := contrast(text, lightBackground); has < leastContrast {
		return "", vigil.Invalid("accent", "is too light to be read on white: its contrast is %.1f, and %.1f is needed; %s would do",
			math.Floor(has*10)/10, leastContrast, mixed(text, "#000000", lightBackground))
	}
	return text, nil
}

// DarkAccent is an accent as it is shown on a dark background: lightened until it can be read there.
func DarkAccent(accent string) string { return mixed(accent, "#ffffff", darkBackground) }

// mixed mixes a color with another one until its contrast to a background is enough.
func mixed(color, with, background string) string {
	from, to := channels(color), channels(with)
	for step := range 101 {
		var parts [3]float64
		for i := range parts {
			parts[i] = from[i] + (to[i]-from[i])*float64(step)/100
		}
		text := fmt.Sprintf("#%02x%02x%02x", int(math.Round(parts[0])), int(math.Round(parts[1])), int(math.Round(parts[2])))
		if contrast(text, background) >= leastContrast {
			return text
		}
	}
	return with
}

func channels(color string) [3]float64 {
	var parts [3]float64
	for i := range parts {
		n, _ := strconv.ParseUint(color[1+2*i:3+2*i], 16, 8) // of the form that accentForm has
		parts[i] = float64(n)
	}
	return parts
}

// contrast is the contrast ratio of two colors, from 1 to 21 (WCAG 2.2, contrast ratio).
func contrast(a, b string) float64 {
	luminance := func(color string) float64 {
		sum := 0.0
		for i, weight := range [3]float64{0.2126, 0.7152, 0.0722} {
			c := channels(color)[i] / 255
			if c <= 0.04045 {
				c /= 12.92
			} else {
				c = math.Pow((c+0.055)/1.055, 2.4)
			}
			sum += weight * c
		}
		return sum
	}
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

var hostForm = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// ParseHost reads the host of a page: a name with a dot, in lower case, or an empty text. Others, and
// addresses, are a vigil.CodeInvalid error.
func ParseHost(text string) (string, error) {
	text = strings.ToLower(strings.TrimSuffix(strings.TrimSpace(text), "."))
	if text == "" {
		return "", nil
	}
	_, err := netip.ParseAddr(text)
	if len(text) > 253 || err == nil || !hostForm.MatchString(text) {
		return "", vigil.Invalid("host", "must be the name of a host, without a scheme, port or path, such as status.example.com")
	}
	return text, nil
}

// HostRecord begins the name of the TXT record that shows that a page may have its host. Its text is
// HostProof of the page.
const HostRecord = "_vigil-status."

// HostProof is the text of the record.
func (p *StatusPage) HostProof() string { return "vigil-status-page=" + p.ID.String() }

// Logo is the picture at the top of a status page.
type Logo struct {
	MediaType string // image/png or image/jpeg
	Image     []byte
}
