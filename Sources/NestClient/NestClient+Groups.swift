import NestModel
import NestProtocol

/// Groups: several transactions as one undo entry.
///
/// A group belongs to the connection. While a group is open, all writes of this client belong to it, from every task.
/// To write outside the group at the same time, use another `NestClient`. Undo, redo and revert end a group. The server
/// ends a group after `Limits.undoGroupSeconds` without a write.
extension NestClient {
    /// Makes the writes of `body` one undo entry. The writes stay if `body` throws.
    ///
    ///     try await client.group("tidy up") { client in
    ///         _ = try await client.transaction(first)
    ///         _ = try await client.transaction(second)
    ///     }
    ///
    /// A lost connection ends the group. Later writes then fail instead of being made outside the group: with
    /// `outcomeUnknown` if they may have been made, otherwise with `connectionLost`. Throws `notFound` if the group
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

    /// Begins a group: the writes of this client until `endGroup` are one undo entry. Returns the group's number, for
    /// `joinGroup`.
    ///
    /// - Parameter name: The name of the entry, at most `Limits.nameBytesMax` bytes. `nil`: the name of its newest
    ///   transaction.
    @discardableResult
    public func beginGroup(_ name: String? = nil) async throws(NestError) -> UInt64 {
        try await self.group(BeginGroup(name: name))
    }

    /// Joins a group that another connection of this session has open: the writes of this client until `endGroup`
    /// belong to it. Throws `notFound` if there is no group with this number.
    public func joinGroup(_ number: UInt64) async throws(NestError) {
        _ = try await self.group(BeginGroup(name: nil, joined: number))
    }

    /// Ends the group, or leaves a joined group. Throws `notFound` if the group has already ended; writes since then,
    /// if any, have undo entries of their own. After a lost connection, writes fail until this is called.
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
