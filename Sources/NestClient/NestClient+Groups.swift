import NestModel
import NestProtocol

/// Several transactions as one undo entry.
///
/// A group belongs to the connection. Everything that this client writes while one is open is part of it, from whatever
/// task; a client that writes other things at the same time does so with another `NestClient`. Undo, redo and revert end
/// it, and so does the server after `Limits.undoGroupSeconds` without a write.
extension NestClient {
    /// Makes what `body` writes one undo entry. What was written stays when `body` throws.
    ///
    ///     try await client.group("tidy up") { client in
    ///         _ = try await client.transaction(first)
    ///         _ = try await client.transaction(second)
    ///     }
    ///
    /// A lost connection ends the group, and nothing is written outside of it unnoticed: writes fail then, with
    /// `outcomeUnknown` when they may have been made and with `connectionLost` when not. Throws `notFound` when the group has
    /// ended before `body` did.
    public func group<Result>(
        _ name: String? = nil,
        _ body: (NestClient) async throws -> Result
    ) async throws -> Result {
        try await self.beginGroup(name)
        let result: Result
        do {
            result = try await body(self)
        } catch {
            self.core.enqueue { $0.leaveGroup() }
            throw error
        }
        try await self.endGroup()
        return result
    }

    /// Begins a group: what this client writes until `endGroup` is one undo entry. Returns its number, for `joinGroup`.
    ///
    /// - Parameter name: of the entry; `nil`: the name of its newest transaction. At most `Limits.nameBytesMax` bytes.
    @discardableResult
    public func beginGroup(_ name: String? = nil) async throws(NestError) -> UInt64 {
        try await self.group(BeginGroup(name: name))
    }

    /// Joins a group that another connection of this session has open: what this client writes until `endGroup` belongs to it.
    /// Throws `notFound` when there is none of that number.
    public func joinGroup(_ number: UInt64) async throws(NestError) {
        _ = try await self.group(BeginGroup(name: nil, joined: number))
    }

    /// Ends the group, or leaves the one that was joined. Throws `notFound` when it has ended already: what was written since
    /// then, if anything, is in entries of its own. After a lost connection writes fail until this is called.
    public func endGroup() async throws(NestError) {
        let timeout = self.configuration.requestTimeout
        let reply = try await self.core.request(timeout: timeout) { machine, token in machine.endGroup(token) }
        guard case .done = reply else { throw Self.unexpected(reply) }
    }

    private func group(_ message: BeginGroup) async throws(NestError) -> UInt64 {
        let timeout = self.configuration.requestTimeout
        let reply = try await self.core.request(timeout: timeout) { machine, token in
            machine.submit(OutgoingRequest(owner: .caller(token), kind: .connection, message))
        }
        guard case .group(let number) = reply else { throw Self.unexpected(reply) }
        return number
    }
}
