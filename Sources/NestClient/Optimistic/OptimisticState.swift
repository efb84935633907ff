import NestModel

/// The rows of a request with the writes of this client that the server has not confirmed yet.
public struct OptimisticState: Sendable {
    /// The rows to show. `snapshot.revision` is that of the server's state below the pending writes. Totals are the
    /// server's; the window's position counts the rows that pending writes insert and remove.
    public let snapshot: SectionedSnapshot
    /// The rows that a pending write changes.
    public let pending: Set<ObjectID>
    /// Those of `pending` that a write changes which was not sent yet. The writes of the others are under way.
    public let queued: Set<ObjectID>
    /// The number of objects and conditions of which the client cannot know what the pending writes make of them. Rows
    /// among these are shown as the server has them; objects that would only come are not shown before the server's
    /// answer. 0: the rows are what the server will answer, if no other session writes. A write that the server must
    /// refuse, by what was known when it was made, is not shown until its answer, even if others make it valid.
    public let undecided: Int
    /// Whether the server's state follows the server now. `false`: the connection is lost, or a snapshot is awaited.
    public let isCurrent: Bool
}

extension OptimisticState {
    /// Returns the rows of a request that was written by name. Throws if the state is not of that request, and what an
    /// element throws that cannot be made of its row.
    public func rows(of request: NamedRequest) throws -> FetchedRows<FetchedRow> {
        try self.rows(of: request, as: FetchedRow.self)
    }

    /// Returns the rows of a request, each as a value of `type`.
    public func rows<Element: RowDecodable>(
        of request: NamedRequest,
        as type: Element.Type
    ) throws -> FetchedRows<Element> {
        try request.check(self.snapshot.projection)
        return try FetchedRows(decoding: self.snapshot, request.columns)
    }
}
