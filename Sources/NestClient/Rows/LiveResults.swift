import NestModel
public import Observation

/// The live rows of a request, for views that observe their data: SwiftUI, or anything else that uses Observation.
///
///     @State private var list = LiveResults(client, as: ToDo.self) { client in
///         try await client.entity("ToDo").request(where: "done == NO", sort: "created", properties: ["title"])
///     }
///     List(list.rows) { Text($0.title) }.task { await list.run() }
///
/// `rows` is a value of one revision that later changes replace and do not touch. When the server gets another model,
/// the request is made again: its names are looked up in the new model, and `run` goes on.
@MainActor @Observable public final class LiveResults<Element: RowDecodable> {
    public enum Status: Sendable {
        /// `run` was not called, or its task was cancelled. The last rows stay.
        case idle
        /// The first rows have not arrived yet, or another model's.
        case loading
        /// Every change is shown as it arrives.
        case live
        /// The connection is lost, and the client reconnects. The rows stay.
        case disconnected(reason: String)
        /// The server has ended the subscription, or an element could not be made of its row. The last rows stay; `run`
        /// may be called again.
        case failed(any Error)
    }

    public typealias Request = @MainActor (NestClient) async throws -> NamedRequest

    public let client: NestClient
    public private(set) var rows = FetchedRows<Element>()
    public private(set) var status = Status.idle
    /// Called with every change, after `rows` has changed: for animations, and snapshots of diffable data sources.
    @ObservationIgnored public var onChange: ((RowsChange<Element>) -> Void)?

    @ObservationIgnored private var makeRequest: Request
    @ObservationIgnored private var subscription: RowsSubscription<Element>?
    @ObservationIgnored private var isRunning = false

    /// `request` is called at each `run`, and again when the server has another model.
    public init(_ client: NestClient, as type: Element.Type = FetchedRow.self, request: @escaping Request) {
        self.client = client
        self.makeRequest = request
    }

    /// Follows the request until the task is cancelled, or the subscription ends: then `status` has the reason.
    public func run() async {
        precondition(!self.isRunning, "live results are run once at a time")
        self.isRunning = true
        defer {
            self.isRunning = false
            self.subscription = nil
        }
        while true {
            self.status = .loading
            do {
                let request = try await self.makeRequest(self.client)
                try await self.client.withFetchedResults(request, as: Element.self) { subscription in
                    self.subscription = subscription
                    for try await change in subscription { self.show(change) }
                }
            } catch is CancellationError {
                self.status = .idle
                return
            } catch let error as NestError where error.code == .schemaChanged {
                continue
            } catch {
                self.status = .failed(error)
                return
            }
        }
    }

    private func show(_ change: RowsChange<Element>) {
        switch change.change {
        case .snapshot, .diff, .progress, .position, .totals, .resumed: self.status = .live
        case .reset: self.status = .loading
        case .disconnected(let reason): self.status = .disconnected(reason: reason)
        case .paused: break
        }
        switch change.change {
        case .snapshot, .diff, .position, .totals: self.rows = change.rows
        case .progress, .reset, .disconnected, .paused, .resumed: break
        }
        self.onChange?(change)
    }

    /// Shows the result of another request, from now on. Before `run`, it applies to that. Throws if the server refuses
    /// it; nothing changes then.
    public func change(to request: @escaping Request) async throws {
        if let subscription = self.subscription {
            try await subscription.change(to: try await request(self.client))
        }
        self.makeRequest = request
    }
}
