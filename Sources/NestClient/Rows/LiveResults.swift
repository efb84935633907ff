import NestModel
public import Observation

/// The live rows of a request, for views that observe their data: SwiftUI, or anything else that uses Observation.
///
///     struct ToDoList: View {
///         @State private var list: LiveResults<ToDo>
///
///         init(_ client: NestClient) {
///             self._list = State(initialValue: LiveResults(client, as: ToDo.self) { client in
///                 try await client.entity("ToDo").request(where: "done == NO", properties: ["title"])
///             })
///         }
///         var body: some View { List(self.list.rows) { Text($0.title) }.task { await self.list.run() } }
///     }
///
/// `rows` is a value of one revision that later changes replace and do not touch. When the server gets another model
/// that does not extend the old one, the request is made again: its names are looked up in the new model, and `run`
/// goes on.
@MainActor @Observable public final class LiveResults<Element: RowDecodable> {
    public enum Status: Hashable, Sendable {
        /// `run` was not called, or its task was cancelled. The last rows stay.
        case idle
        /// The first rows have not arrived yet, or rows that replace all others.
        case loading
        /// The rows are those of the last run, from a cache. The server has not confirmed them.
        case cached
        /// Every change is shown as it arrives.
        case live
        /// The connection is lost, and the client reconnects. The rows stay.
        case disconnected(reason: String)
        /// The subscription has ended; `error` says why. The last rows stay, and `run` may be called again.
        case failed
    }

    public typealias Request = @MainActor (NestClient) async throws -> NamedRequest

    /// How often in a row the request is made again because the model has changed, without any row in between.
    private static var restartsMax: Int { 3 }

    public let client: NestClient
    public private(set) var rows = FetchedRows<Element>()
    public private(set) var status = Status.idle
    /// Why the last `run` has failed: a `NestError`, or what an element threw that could not be made of its row.
    public private(set) var error: (any Error)?
    /// Called with every change, after `rows` has changed: for animations, and snapshots of diffable data sources.
    @ObservationIgnored public var onChange: ((RowsChange<Element>) -> Void)?

    @ObservationIgnored private var makeRequest: Request
    /// The last request whose rows have arrived, or that the server has accepted.
    @ObservationIgnored private var accepted: Request?
    /// Counts the changes of `makeRequest`.
    @ObservationIgnored private var requestNumber = 0
    @ObservationIgnored private var following: Task<Void, Never>?
    @ObservationIgnored private var subscription: RowsSubscription<Element>?
    /// Whether the rows of the subscription have not arrived, or others will replace them.
    @ObservationIgnored private var awaitsSnapshot = true

    /// `request` is called at each `run`, and again when the server has another model: look the entity up in it.
    public init(_ client: NestClient, as type: Element.Type, request: @escaping Request) {
        self.client = client
        self.makeRequest = request
    }

    /// Follows the request until the task is cancelled or the subscription ends; `status` says which. A later call
    /// takes over, and this one returns.
    public func run() async {
        let earlier = self.following
        earlier?.cancel()
        let task = Task {
            await earlier?.value
            await self.followUntilItEnds()
        }
        self.following = task
        await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
    }

    private func followUntilItEnds() async {
        self.error = nil
        var restarts = 0
        while true {
            self.subscription = nil
            self.enter(.loading)
            do {
                try await self.follow { restarts = 0 }
            } catch {
                self.subscription = nil
                if !Task.isCancelled, (error as? NestError)?.code == .schemaChanged, restarts < Self.restartsMax {
                    restarts += 1
                    if (try? await self.client.model()) != nil { continue }
                }
                if Task.isCancelled { return self.enter(.idle) }
                self.error = error
                return self.enter(.failed)
            }
        }
    }

    /// Follows the present request. Returns when another one was set before this subscription could follow it.
    /// `onRows` is called when rows have arrived.
    private func follow(onRows: () -> Void) async throws {
        let (number, makeRequest) = (self.requestNumber, self.makeRequest)
        let request = try await makeRequest(self.client)
        guard number == self.requestNumber else { return }
        try await self.client.withFetchedResults(request, as: Element.self) { subscription in
            guard number == self.requestNumber else { return }
            self.subscription = subscription
            self.awaitsSnapshot = true
            for try await change in subscription {
                if number == self.requestNumber { self.accepted = makeRequest }
                self.show(change)
                if change.changesRows { onRows() }
            }
        }
    }

    private func show(_ change: RowsChange<Element>) {
        switch change.change {
        case .snapshot: self.awaitsSnapshot = false
        case .reset: self.awaitsSnapshot = true
        default: break
        }
        switch change.change {
        case .snapshot, .diff, .position, .totals: self.rows = change.rows
        case .progress, .reset, .disconnected, .paused, .resumed: break
        }
        if case .disconnected(let reason) = change.change {
            self.enter(.disconnected(reason: reason))
        } else {
            self.enter(self.awaitsSnapshot ? .loading : change.isFromCache ? .cached : .live)
        }
        self.onChange?(change)
    }

    /// Only another status reaches the views.
    private func enter(_ status: Status) {
        if self.status != status { self.status = status }
    }

    /// Shows the result of another request, from now on, also after a later `run`. Of several calls the last one
    /// counts. Throws if the server refuses the request; the last one that it accepted then stays. Before the first
    /// rows have arrived this does not wait for the server: a request that it refuses then ends `run`.
    public func change(to request: @escaping Request) async throws {
        self.makeRequest = request
        self.requestNumber += 1
        let number = self.requestNumber
        guard let subscription = self.subscription else { return }
        do {
            let named = try await request(self.client)
            guard number == self.requestNumber else { return }
            if try await subscription.change(to: named), number == self.requestNumber { self.accepted = request }
        } catch {
            if number == self.requestNumber, let accepted = self.accepted { self.makeRequest = accepted }
            throw error
        }
    }
}

extension LiveResults where Element == FetchedRow {
    /// Live rows that are read by name.
    public convenience init(_ client: NestClient, request: @escaping Request) {
        self.init(client, as: FetchedRow.self, request: request)
    }
}
