import NIOCore
import NestModel
import NestProtocol

/// Transfers of sub-trees of any size.
extension NestClient {
    /// Fetches a sub-tree of any size and depth, while `body` runs.
    public func fetchSubtree<Result>(
        _ request: SubtreeRequest,
        atLeast: Revision = Revision(0),
        _ body: (Subtree) async throws -> Result
    ) async throws -> Result {
        try await self.connect()
        let core = self.core
        let token = await core.newToken()
        let stream = TransferStream(credit: await core.initialCredit)
        let least = atLeast == .newest ? try await self.newestRevision(asking: request) : atLeast
        let message = FetchSubtree(request, atLeast: least)
        await core.begin(OutgoingRequest(owner: .caller(token), kind: .download, message), token, stream)
        // Cancels the transfer if `body` ends early. Has no effect after the end.
        defer { core.enqueue { $0.leave(token) } }
        let start = try await stream.start()
        return try await body(Subtree(start, stream: stream, token: token, core: core))
    }

    /// Returns the newest revision. The server knows `newest` only for fetch requests, so this asks for no row at all.
    private func newestRevision(asking subtree: SubtreeRequest) async throws -> Revision {
        let entity = try await self.currentModel().entities.first { $0.relationship(subtree.relationship) != nil }
        guard let entity else { return Revision(0) }
        var request = ObjectFetchRequest(entity: entity.number)
        request.predicate = FetchPredicate(
            Comparison(path: PropertyPath(leaf: .object), operator: .equal, values: [.reference(subtree.root)])
        )
        request.window = FetchWindow(limit: 0)
        return try await self.fetch(request, atLeast: .newest).revision
    }

    /// Stores a sub-tree of any size as one transaction and one undo entry.
    ///
    /// - Parameters:
    ///   - request: Where the sub-tree goes, and the properties that its rows have values of.
    ///   - nextRows: Returns the next rows in preorder, any number of them, and `nil` at the end. The depth of a row is
    ///     at most one more than the depth of the row before. Its values are those of `request.properties`.
    public func importSubtree(
        _ request: SubtreeImport,
        nextRows: () async throws -> [SubtreeRow]?
    ) async throws -> Receipt {
        try await self.connect()
        var request = request
        request.key = request.key ?? Self.newKey()
        let core = self.core
        let token = await core.newToken()
        let stream = TransferStream(credit: 0)
        await core.begin(
            OutgoingRequest(owner: .caller(token), kind: .upload(isEnded: false), ImportSubtree(request)),
            token,
            stream
        )
        defer { core.enqueue { $0.leave(token) } }
        var upload = SubtreeUpload(
            core: core,
            token: token,
            stream: stream,
            valueCount: request.properties.count,
            isCompressed: await core.isCompressionKnown
        )
        while let rows = try await nextRows() {
            for row in rows { try await upload.append(row) }
        }
        try await upload.end()
        let reply = try await core.reply(token)
        guard case .receipt(let receipt) = reply else { throw Self.unexpected(reply) }
        return receipt
    }

    /// Stores the rows of a sequence: see `importSubtree(_:nextRows:)`.
    public func importSubtree<Rows: AsyncSequence>(
        _ request: SubtreeImport,
        rows: Rows
    ) async throws -> Receipt where Rows.Element == SubtreeRow {
        var iterator = rows.makeAsyncIterator()
        return try await self.importSubtree(request) { try await iterator.next(isolation: #isolation).map { [$0] } }
    }
}
