import NIOConcurrencyHelpers
import NestModel

/// The live result of a request that is written by name: a sequence of changes, each with the rows after it.
///
/// Iterate it from one task. It is `ResultsSubscription` with named or typed rows: the same changes arrive, after lost
/// connections too. A diff costs time in proportion to the rows of the sections that it concerns, every change in
/// proportion to the number of sections; a window keeps both small.
public struct RowsSubscription<Value: RowDecodable>: AsyncSequence, Sendable {
    public typealias Element = RowsChange<Value>

    /// The changes and rows as they are received. Change the request with `change(to:)` of this subscription.
    public let results: ResultsSubscription
    /// The latest model that a request was made for. It has the names of all requests.
    private let model: NIOLockedValueBox<ManagedObjectModel>

    /// The columns of a `SelectedRow`: the same for all requests of the subscription.
    private let selected: [String]

    /// `request`: the one that `results` has.
    init(results: ResultsSubscription, _ request: NamedRequest) {
        self.results = results
        self.model = NIOLockedValueBox(request.entity.model)
        self.selected = request.columns.selected
    }

    /// Changes the request while the rows are iterated: see `ResultsSubscription.change(to:)`. Throws `schemaChanged`
    /// if the request was made for another model, of which neither extends the other, and `invalid` if the rows are
    /// `SelectedRow` and the request has other columns.
    @discardableResult
    public func change(to request: NamedRequest) async throws(NestError) -> Bool {
        guard self.selected.isEmpty || self.selected == request.columns.selected else {
            throw NestError(.invalid, "the request has other columns than the rows: \(self.selected)")
        }
        let isValid = self.model.withLockedValue { model in
            if model.isValid(for: request.entity.model) { return true }
            guard request.entity.model.isValid(for: model) else { return false }
            model = request.entity.model
            return true
        }
        guard isValid else { throw NamedRequest.otherModel }
        return try await self.results.change(to: request.request)
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
        private let model: NIOLockedValueBox<ManagedObjectModel>
        private let selected: [String]
        /// The request of the rows, as the subscription has it and with names.
        private var request: (current: ObjectFetchRequest, named: NamedRequest)?
        private var values = ElementLists<Value>()
        /// Whether `values` are those of the queue's state. At first they are not: another iterator may have taken
        /// changes.
        private var isInStep = false
        /// Whether the last change could not be returned: its reader has not seen the state before the next one.
        private var hasFailed = false

        init(_ subscription: RowsSubscription) {
            self.queue = subscription.results.queue
            self.model = subscription.model
            self.selected = subscription.selected
        }

        /// Waits for the next change. Throws `NestError` if the server ends the subscription or the client is closed,
        /// `CancellationError` in a cancelled task, and what a value throws that cannot be made of its row. Iterating
        /// may go on after that: the next diff then has no events, and its rows replace all others. Never returns
        /// `nil`.
        public mutating func next() async throws -> RowsChange<Value>? {
            while true {
                let events = try await self.queue.upcoming()
                guard let change = self.queue.advance() else { continue }
                let (state, isCurrent, isFromCache) = (self.queue.state, self.queue.isCurrent, self.queue.isFromCache)
                let old = self.isInStep ? self.values : nil
                let isSeen = !self.hasFailed
                self.hasFailed = true
                try self.update(with: change, state)
                let rows = FetchedRows(state, self.values.sections)
                guard case .diff = change, isSeen else {
                    self.hasFailed = false
                    return RowsChange(change, rows, [], isCurrent: isCurrent, isFromCache: isFromCache)
                }
                let make = self.make
                let made = try events.compactMap { event in
                    try RowsEvent(event, rows) { row, path in try old?[path] ?? make(row) }
                }
                self.hasFailed = false
                return RowsChange(change, rows, made, isCurrent: isCurrent, isFromCache: isFromCache)
            }
        }

        /// Follows a change of the request. Throws `schemaChanged` if the rows do not have its columns.
        private mutating func follow(_ state: SectionedSnapshot) throws(NestError) {
            let request = self.queue.request
            if let last = self.request, last.current == request {
                if state.total > 0 { try last.named.check(state.projection) }
                return
            }
            let model = self.model.withLockedValue { $0 }
            guard let entity = model.entity(request.entity) else {
                throw NestError(.unknownEntity, "the model has no entity \(request.entity.rawValue)")
            }
            let named = NamedRequest(request, of: NamedEntity(entity, in: model), selected: self.selected)
            self.request = (request, named)
            if state.total > 0 { try named.check(state.projection) }
        }

        private var make: (Row) throws -> Value {
            let columns = self.request?.named.columns ?? Columns([])
            return { row in try Value(row: FetchedRow(row, columns)) }
        }

        private mutating func update(with change: FetchedResultsChange, _ state: SectionedSnapshot) throws {
            let wasInStep = self.isInStep
            // If a value cannot be made, the next change makes all of them anew.
            self.isInStep = false
            try self.follow(state)
            if wasInStep, case .diff(let diff) = change {
                try self.values.apply(diff, state, self.make)
            } else if case .snapshot = change {
                try self.values.replace(with: state, self.make)
            } else if !wasInStep {
                try self.values.replace(with: state, self.make)
            }
            self.isInStep = true
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}
