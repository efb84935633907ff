import NIOCore

/// A peer's address as limits count it: an IPv4 address, or an IPv6 network of 64 bits, because one host may have a
/// whole network.
package struct AddressKey: Hashable, Sendable {
    private let bits: UInt64
    private let isIPv4: Bool

    /// Returns `nil` for a socket without an IP address, and for this machine itself, whose users share one address.
    package init?(_ address: SocketAddress?) {
        guard let address else { return nil }
        let bytes = address.withSockAddr { pointer, count in Array(UnsafeRawBufferPointer(start: pointer, count: count))
        }
        func number(_ range: Range<Int>) -> UInt64 { bytes[range].reduce(0) { $0 << 8 | UInt64($1) } }
        // In both structures, two bytes of family and two of port come first.
        switch address {
        case .v4:
            self.bits = number(4..<8)
            self.isIPv4 = true
        case .v6:
            // An IPv6 socket reports an IPv4 address as ::ffff:a.b.c.d.
            let isMapped = number(8..<16) == 0 && number(16..<20) == 0xffff
            self.bits = isMapped ? number(20..<24) : number(8..<16)
            self.isIPv4 = isMapped
            if number(8..<16) == 0, number(16..<24) == 1 { return nil }
        case .unixDomainSocket:
            return nil
        }
        if self.isIPv4, self.bits >> 24 == 127 { return nil }
    }
}
