import NIOSSL
import NestModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Finds what is wrong with the certificate of a server. TLS has refused it already: this finds the words.
enum CertificateFault {
    /// Returns the reason why the certificate was not trusted.
    static func reason(_ certificate: NIOSSLCertificate) -> ConnectFault.Reason {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        let (begin, end) = (certificate.notValidBefore, certificate.notValidAfter)
        if end < now.tv_sec { return .expired(Int64(end) * 1_000_000) }
        if begin > now.tv_sec { return .notYetValid(Int64(begin) * 1_000_000) }
        return .unknownAuthority(isSelfSigned: self.isSelfSigned(certificate))
    }

    /// Returns the DNS names and IP addresses in a certificate.
    static func names(_ certificate: NIOSSLCertificate) -> [String] {
        certificate._subjectAlternativeNames().compactMap { name in
            let bytes = name.contents.withUnsafeBufferPointer { Array($0) }
            switch name.nameType {
            // A name with other characters is no name of a host, and could spoil a message.
            case .dnsName:
                return bytes.allSatisfy { (0x21...0x7e).contains($0) } ? String(decoding: bytes, as: UTF8.self) : nil
            case .ipAddress: return self.address(bytes)
            default: return nil
            }
        }
    }

    private static func address(_ bytes: [UInt8]) -> String? {
        switch bytes.count {
        case 4: return bytes.map { "\($0)" }.joined(separator: ".")
        case 16:
            var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
            guard inet_ntop(AF_INET6, bytes, &text, socklen_t(text.count)) != nil else { return nil }
            return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        default: return nil
        }
    }

    /// Whether the subject of a certificate is its issuer.
    static func isSelfSigned(_ certificate: NIOSSLCertificate) -> Bool {
        guard let bytes = try? certificate.toDERBytes() else { return false }
        return self.isSelfSigned(bytes)
    }

    /// An X.509 certificate in DER: SEQUENCE { SEQUENCE { [0] version, serial, algorithm, issuer, validity, subject, …
    private static func isSelfSigned(_ bytes: [UInt8]) -> Bool {
        guard let certificate = self.elements(bytes[...]).first,
            let body = self.elements(certificate.content).first
        else { return false }
        // A certificate of version 1 has no version.
        var fields = self.elements(body.content)[...]
        if fields.first?.tag == 0xa0 { fields = fields.dropFirst() }
        guard fields.count >= 5 else { return false }
        let (issuer, subject) = (fields[fields.startIndex + 2], fields[fields.startIndex + 4])
        return issuer.content == subject.content
    }

    private struct Element {
        var tag: UInt8
        var content: ArraySlice<UInt8>
    }

    /// Returns the elements in a sequence of DER, up to the first that is damaged.
    private static func elements(_ bytes: ArraySlice<UInt8>) -> [Element] {
        var elements: [Element] = []
        var rest = bytes
        while let tag = rest.popFirst(), let first = rest.popFirst() {
            var length = Int(first)
            if first >= 0x80 {
                let count = Int(first & 0x7f)
                guard (1...3).contains(count), rest.count >= count else { return elements }
                length = rest.prefix(count).reduce(0) { $0 << 8 | Int($1) }
                rest = rest.dropFirst(count)
            }
            guard rest.count >= length else { return elements }
            elements.append(Element(tag: tag, content: rest.prefix(length)))
            rest = rest.dropFirst(length)
        }
        return elements
    }
}
