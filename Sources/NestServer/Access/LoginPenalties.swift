import Glibc
import NIOCore
import NestModel
import NestProtocol

/// Delays the answers to wrong tokens: each further one of an address waits twice as long, up to a limit, however many wait at
/// the same time. Knows no clock.
///
/// A good token is let in at once, also while its address guesses: otherwise whoever shares an address could lock the others
/// out. A guesser therefore need not wait to learn that a guess was wrong, and the delay protects no secret. The secret's size
/// does: it is 256 random bits, which nobody finds at any rate of guesses that a server can take. The delay makes guesses dear:
/// a program that waits for its answer gets one in four seconds, and holds a connection meanwhile, which counts among those of
/// its address and whose place goes to the next client that needs one. A program that does not wait pays a connection and
/// its handshake for each guess.
///
/// Wrong tokens are counted by address alone. Their numbers are public and small: a count by number would let a guesser delay
/// the holder of the good token, and an answer that depended on the number would tell which exist.
package struct LoginPenalties: Sendable {
    /// What a wrong token costs.
    package struct Penalty: Equatable, Sendable {
        /// How long the answer waits.
        package let delay: TimeAmount
        /// Whether it gets a line in the log: one of an address in the time of a delay, however many come.
        package let isLogged: Bool
    }

    private struct Entry {
        var failureCount = 0
        var last: NIODeadline
        var loggedUntil: NIODeadline?
    }

    private var entries: [String: Entry] = [:]

    package init() {}

    /// Addresses remembered.
    package var count: Int { self.entries.count }

    /// A token was wrong.
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

    /// What guesses are counted by: an IPv4 address, the first half of an IPv6 address, which one host has for itself.
    package static func key(_ address: SocketAddress?) -> String {
        guard let address, let text = address.ipAddress else { return "local" }
        guard address.protocol == .inet6 else { return text }
        var bytes = [UInt8](repeating: 0, count: 16)
        // A link-local address may have the name of its interface behind it.
        guard inet_pton(AF_INET6, String(text.prefix { $0 != "%" }), &bytes) == 1 else { return text }
        // An IPv4 address in the form of IPv6.
        let isMapped = bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10] == 0xff && bytes[11] == 0xff
        return (isMapped ? bytes : Array(bytes.prefix(8))).map { String($0, radix: 16) }.joined(separator: ":")
    }
}
