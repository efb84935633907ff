import NestModel

/// The live result of a request that is written by name: a sequence of changes, each with the rows after it.
///
/// Iterate it from one task. It is `ResultsSubscription` with named or typed rows: the same changes arrive, after lost
/// connections too. A change costs time in proportion to the rows of the sections that it concerns; a window keeps that
/// small.
public struct RowsSubscription<Value: RowDecodable>: AsyncSequence, Sendable {
    public typealias Element = RowsChange<Value>

    /// The changes and rows as they are received.
    public let results: ResultsSubscription
    let entity: NamedEntity

    /// Changes the request while the rows are iterated: see `ResultsSubscription.change(to:)`.
    @discardableResult
    public func change(to request: NamedRequest) async throws(NestError) -> Bool {
        try await self.results.change(to: request.request)
    }

    /// Shows other rows of the same result, or all rows if `window` is `nil`.
    @discardableResult
    public func setWindow(_ window: FetchWindow?) async throws(NestError) -> Bool {
        try await self.results.setWindow(window)
    }

    /// Ends the subscription at the server and keeps the rows: see `ResultsSubscription.pause()`.
    public func pause() async { await self.results.pause() }

    /// Continues from the held rows: see `ResultsSubscription.resume()`.
    public func resume() async { await self.results.resume() }

    public struct AsyncIterator: AsyncIteratorProtocol {
        private let queue: ResultsQueue
        private let entity: NamedEntity
        private var request: NamedRequest
        private var values = ElementLists<Value>()
        private var rows = FetchedRows<Value>()

        init(_ subscription: RowsSubscription) {
            self.queue = subscription.results.queue
            self.entity = subscription.entity
            self.request = NamedRequest(self.queue.request, of: self.entity)
        }

        /// Waits for the next change. Throws `NestError` if the server ends the subscription or the client is closed,
        /// `CancellationError` in a cancelled task, and what a value throws that cannot be made of its row. Never
        /// returns `nil`.
        public mutating func next() async throws -> RowsChange<Value>? {
            while true {
                let events = try await self.queue.upcoming()
                guard let change = self.queue.advance() else { continue }
                if self.queue.request != self.request.request {
                    self.request = NamedRequest(self.queue.request, of: self.entity)
                }
                let columns = self.request.columns
                func value(_ row: Row) throws -> Value { try Value(row: FetchedRow(row, columns)) }
                let state = self.queue.state
                switch change {
                case .snapshot: try self.values.replace(with: state, value)
                case .diff(let diff): try self.values.apply(diff, state, value)
                case .progress, .position, .totals, .reset, .disconnected, .paused, .resumed: break
                }
                self.rows = FetchedRows(state, self.values.sections)
                return RowsChange(change, self.rows, try events.compactMap { try RowsEvent($0, value) })
            }
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}

/// A change of live rows, and the rows after it.
public struct RowsChange<Element: RowDecodable>: Sendable {
    /// What has happened.
    public let change: FetchedResultsChange
    /// All rows after the change.
    public let rows: FetchedRows<Element>
    /// What a diff does to a table or collection view in one batch; empty for every other change.
    public let events: [RowsEvent<Element>]

    init(_ change: FetchedResultsChange, _ rows: FetchedRows<Element>, _ events: [RowsEvent<Element>]) {
        self.change = change
        self.rows = rows
        self.events = events
    }

    /// Whether rows have come, gone, moved or changed.
    public var changesRows: Bool {
        switch self.change {
        case .snapshot, .diff: true
        default: false
        }
    }

    /// Whether a diff includes a write of this client.
    public var isOwn: Bool {
        if case .diff(let diff) = self.change { diff.isOwn } else { false }
    }
}

/// One step of a batch of updates, in the order and with the coordinates of `FetchedResultsEvent`: every path `at`
/// refers to the rows before the change, every path `to` to those after it.
public enum RowsEvent<Element> {
    case deleteSection(at: Int)
    case insertSection(to: Int)
    /// The row before the change.
    case delete(Element, at: RowPosition)
    case insert(Element, to: RowPosition)
    case move(Element, at: RowPosition, to: RowPosition)
    /// The row after the change.
    case update(Element, at: RowPosition, to: RowPosition)

    /// `nil`: the event is the beginning or the end of the batch.
    init?(_ event: FetchedResultsEvent, _ element: (Row) throws -> Element) rethrows {
        switch event {
        case .willChangeContent, .didChangeContent: return nil
        case .deleteSection(_, let index): self = .deleteSection(at: index)
        case .insertSection(_, let index): self = .insertSection(to: index)
        case .delete(let row, let path): self = .delete(try element(row), at: path)
        case .insert(let row, let path): self = .insert(try element(row), to: path)
        case .move(let row, let old, let new): self = .move(try element(row), at: old, to: new)
        case .update(let row, let old, let new): self = .update(try element(row), at: old, to: new)
        }
    }
}

extension RowsEvent: Sendable where Element: Sendable {}
extension RowsEvent: Equatable where Element: Equatable {}
