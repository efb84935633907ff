import Glibc
import NIOCore
import NIOSSL
import NestModel

/// Text for the log.
package enum LogText {
    /// Returns an address as `host:port`; an IPv6 host is in brackets.
    static func address(_ address: SocketAddress?) -> String {
        guard let address, let host = address.ipAddress, let port = address.port else { return "unknown" }
        return address.protocol == .inet6 ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    /// Returns the reason of an error of the system or of TLS.
    package static func reason(_ error: any Error) -> String {
        if let error = error as? IOError { return String(cString: strerror(error.errnoCode)) }
        let text = "\(error)"
        guard error is NIOSSLError || error is BoringSSLError else { return text }
        // BoringSSL's text has numbers, file names and line numbers; only this name helps the reader.
        return text.firstMatch(of: /OPENSSL_internal:([A-Z0-9_]+)/).map { "TLS: \($0.1)" } ?? "TLS: \(text)"
    }

    /// Returns the beginning of a text: at most `bytesMax` bytes.
    static func cut(_ text: String, bytesMax: Int) -> String {
        guard text.utf8.count > bytesMax else { return text }
        var count = 0
        let scalars = text.unicodeScalars.prefix { scalar in
            count += UTF8.width(scalar)
            return count <= bytesMax
        }
        return String(scalars)
    }

    /// Returns what a client says of its user, as others see it: printable, and at most as long as a label may be.
    static func label(_ text: String) -> String { self.cut(self.printable(text), bytesMax: Limits.nameBytesMax) }

    /// Returns a label for the log: `~` marks a claim, which the server has not checked.
    static func shown(_ user: UserLabel) -> String { (user.isClaimed ? "~" : "") + self.printable(user.text) }

    /// Returns a peer's text with control characters replaced, so that an event stays on one line and cannot control a
    /// terminal.
    static func printable(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { scalar in
                    switch scalar.properties.generalCategory {
                    case .control, .format, .lineSeparator, .paragraphSeparator: "\u{fffd}"
                    default: scalar
                    }
                }
            )
        )
    }
}
