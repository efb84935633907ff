import Glibc
import NIOCore
import NestModel
import NestProtocol

/// Delays the answers to wrong tokens. The delay doubles with each further wrong token from an address, up to a limit,
/// even while earlier answers are still waiting. The caller passes the time.
///
/// A valid token is accepted at once, even while another client guesses from the same address: otherwise one user of an
/// address could lock out the others. An attacker therefore need not wait for the answer to learn that a guess was
/// wrong, and the delay does not protect the secret. Its size does: 256 random bits cannot be found at any rate of
/// guesses that a server can handle. The delay makes guesses expensive. A program that waits for its answer makes one
/// guess in four seconds; meanwhile it holds a connection, which counts for its address and can be evicted. A program
/// that does not wait pays for a connection and a handshake with each guess.
///
/// Wrong tokens are counted by address alone. Token numbers are public and small: counting by number would let a
/// guesser delay the holder of the valid token, and an answer that depended on the number would reveal which numbers
/// exist.
package struct LoginPenalties: Sendable {
    /// The penalty for a wrong token.
    package struct Penalty: Equatable, Sendable {
        /// How long the answer waits.
        package let delay: TimeAmount
        /// Whether to log it. One line is logged for each address and delay, however many attempts arrive.
        package let isLogged: Bool
    }

    private struct Entry {
        var failureCount = 0
        var last: NIODeadline
        var loggedUntil: NIODeadline?
    }

    private var entries: [String: Entry] = [:]

    package init() {}

    /// The number of remembered addresses.
    package var count: Int { self.entries.count }

    /// Records a wrong token from `address` and returns its penalty.
    package mutating func failed(_ address: String, now: NIODeadline) -> Penalty {
        if self.entries[address] == nil { self.makeRoom(now: now) }
        var entry = self.entries[address] ?? Entry(last: now)
        if Self.isOld(entry, now) { entry.failureCount = 0 }
        let milliseconds = Limits.loginDelayMillisecondsMin << min(entry.failureCount, 16)
        let delay = TimeAmount.milliseconds(Int64(min(milliseconds, Limits.loginDelayMillisecondsMax)))
        let isLogged = entry.loggedUntil.map { $0 <= now } ?? true
        if isLogged { entry.loggedUntil = now + delay }
        entry.failureCount += 1
        entry.last = now
        self.entries[address] = entry
        return Penalty(delay: delay, isLogged: isLogged)
    }

    private mutating func makeRoom(now: NIODeadline) {
        guard self.entries.count >= Limits.loginAddressesMax else { return }
        self.entries = self.entries.filter { !Self.isOld($0.value, now) }
        guard self.entries.count >= Limits.loginAddressesMax else { return }
        let oldest = self.entries.min { $0.value.last < $1.value.last }
        if let oldest { self.entries[oldest.key] = nil }
    }

    private static func isOld(_ entry: Entry, _ now: NIODeadline) -> Bool {
        now - entry.last > .seconds(Int64(Limits.loginMemorySeconds))
    }

    /// Returns the key that attempts are counted by: an IPv4 address, or the first 64 bits of an IPv6 address, because
    /// one host has a whole network.
    package static func key(_ address: SocketAddress?) -> String {
        guard let address, let text = address.ipAddress else { return "local" }
        guard address.protocol == .inet6 else { return text }
        var bytes = [UInt8](repeating: 0, count: 16)
        // A link-local address may end with the name of its interface.
        guard inet_pton(AF_INET6, String(text.prefix { $0 != "%" }), &bytes) == 1 else { return text }
        // An IPv4 address that is mapped into IPv6.
        let isMapped = bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10] == 0xff && bytes[11] == 0xff
        return (isMapped ? bytes : Array(bytes.prefix(8))).map { String($0, radix: 16) }.joined(separator: ":")
    }
}
