import Glibc
import NIOCore
import NIOSSL

/// Text for the log.
package enum LogText {
    /// An address as people write it.
    static func address(_ address: SocketAddress?) -> String {
        guard let address, let host = address.ipAddress, let port = address.port else { return "unknown" }
        return address.protocol == .inet6 ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    /// Why the system or TLS refused something.
    package static func reason(_ error: any Error) -> String {
        if let error = error as? IOError { return String(cString: strerror(error.errnoCode)) }
        let text = "\(error)"
        guard error is NIOSSLError || error is BoringSSLError else { return text }
        // Of BoringSSL's numbers, names and lines of source people can use one name.
        return text.firstMatch(of: /OPENSSL_internal:([A-Z0-9_]+)/).map { "TLS: \($0.1)" } ?? "TLS: \(text)"
    }

    /// As much of a text as has so many bytes.
    static func cut(_ text: String, bytesMax: Int) -> String {
        guard text.utf8.count > bytesMax else { return text }
        var count = 0
        let scalars = text.unicodeScalars.prefix { scalar in
            count += UTF8.width(scalar)
            return count <= bytesMax
        }
        return String(scalars)
    }

    /// Text of a peer without control characters, so that one event stays one line and a terminal is left alone.
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
