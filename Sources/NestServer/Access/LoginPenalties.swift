import Glibc
import NIOCore
import NestModel

/// Slows down who tries tokens: the answer to a wrong one waits, twice as long each time, and few may wait at a time.
///
/// A good token is let in at once, also from an address that others guess from, as long as not too many of their guesses
/// wait; above that none is looked at, so that trying many at the same time gains nothing. Knows no clock.
package struct LoginPenalties: Sendable {
    private struct Entry {
        var failureCount = 0
        var waitingCount = 0
        var last: NIODeadline
    }

    private var entries: [String: Entry] = [:]

    package init() {}

    /// Addresses remembered.
    package var count: Int { self.entries.count }

    /// Whether a token from this address may be looked at now.
    package func mayTry(_ address: String) -> Bool {
        (self.entries[address]?.waitingCount ?? 0) < Limits.loginsWaitingPerAddressMax
    }

    /// A token was wrong. Returns how long its answer waits; `answered` says when it has been given.
    package mutating func failed(_ address: String, now: NIODeadline) -> TimeAmount {
        if self.entries[address] == nil { self.makeRoom(now: now) }
        var entry = self.entries[address] ?? Entry(last: now)
        if entry.waitingCount == 0, Self.isOld(entry, now) { entry.failureCount = 0 }
        let doublings = min(entry.failureCount, 16)
        entry.failureCount += 1
        entry.waitingCount += 1
        entry.last = now
        self.entries[address] = entry
        let delay = Limits.loginDelayMillisecondsMin << doublings
        return .milliseconds(Int64(min(delay, Limits.loginDelayMillisecondsMax)))
    }

    /// The answer has been given, or there was nobody left to take it: either after its wait.
    package mutating func answered(_ address: String) {
        self.entries[address]?.waitingCount -= 1
    }

    private mutating func makeRoom(now: NIODeadline) {
        guard self.entries.count >= Limits.loginAddressesMax else { return }
        self.entries = self.entries.filter { $0.value.waitingCount > 0 || !Self.isOld($0.value, now) }
        guard self.entries.count >= Limits.loginAddressesMax else { return }
        let oldest = self.entries.filter { $0.value.waitingCount == 0 }.min { $0.value.last < $1.value.last }
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
