import NIOSSL

/// Whether a certificate is for a DNS name. NIOSSL also accepts a certificate for the IP address that the name resolves
/// to. An attacker who controls DNS may have a certificate for that address.
package enum PeerName {
    static func matches(_ name: String, _ certificate: NIOSSLCertificate) -> Bool {
        certificate._subjectAlternativeNames().contains { alternative in
            guard alternative.nameType == .dnsName else { return false }
            let pattern = alternative.contents.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
            return self.matches(name, pattern: pattern)
        }
    }

    /// `*` matches one whole label, the first one, as in RFC 6125.
    package static func matches(_ name: String, pattern: String) -> Bool {
        func labels(_ text: String) -> [Substring] {
            (text.hasSuffix(".") ? text.dropLast() : text[...]).lowercased().split(
                separator: ".",
                omittingEmptySubsequences: false
            ).map { Substring($0) }
        }
        let (name, pattern) = (labels(name), labels(pattern))
        guard name.count == pattern.count, !name.contains("") else { return false }
        if name == pattern { return true }
        return pattern.first == "*" && name.count > 2 && name.dropFirst() == pattern.dropFirst()
    }
}
