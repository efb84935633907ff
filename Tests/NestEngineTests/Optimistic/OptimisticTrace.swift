import NestModel
import NestOverlay
import NestProtocol
import NestTestSupport

/// What one optimistic client does and receives, and what it shows, for clients in other languages.
struct OptimisticTrace {
    private let model: ManagedObjectModel
    private let now: Int64
    private var events: [JSONValue] = []
    private var known: [OptimisticViews.ID: OverlaidView] = [:]

    init(_ model: ManagedObjectModel, now: Int64) {
        self.model = model
        self.now = now
    }

    mutating func write(
        _ id: PendingWrites.ID,
        _ mutations: [Mutation],
        isOpen: Bool = false,
        place: PendingWrites.ID? = nil
    ) {
        var members: [String: JSONValue] = [
            "write": JSONValue(count: Int(id.rawValue)), "transaction": Self.hex(mutations),
        ]
        if isOpen { members["open"] = .bool(true) }
        if let place { members["place"] = JSONValue(count: Int(place.rawValue)) }
        self.events.append(.object(members))
    }

    mutating func grow(_ id: PendingWrites.ID, _ mutations: [Mutation]) {
        self.events.append(["grown": JSONValue(count: Int(id.rawValue)), "transaction": Self.hex(mutations)])
    }

    private static func hex(_ mutations: [Mutation]) -> JSONValue {
        var writer = ByteWriter()
        writer.write(transactionBody: WriteTransaction(mutations: mutations))
        return .string(Hex.text(writer.bytes))
    }

    mutating func event(_ name: String, _ id: PendingWrites.ID, _ revision: Revision? = nil) {
        var members: [String: JSONValue] = [name: JSONValue(count: Int(id.rawValue))]
        if let revision { members["revision"] = .integer(Int64(revision.rawValue)) }
        self.events.append(.object(members))
    }

    mutating func lost() { self.events.append(["lost": .bool(true)]) }

    mutating func state(_ id: OptimisticViews.ID, _ request: ObjectFetchRequest, _ state: SectionedSnapshot) {
        var writer = ByteWriter()
        writer.write(fetchRequest: request)
        self.events.append([
            "view": JSONValue(count: Int(id.rawValue)), "request": .string(Hex.text(writer.bytes)),
            "state": JSONValue(state),
        ])
    }

    mutating func removed(_ id: OptimisticViews.ID) {
        self.known[id] = nil
        self.events.append(["removed": JSONValue(count: Int(id.rawValue))])
    }

    /// Notes what is shown differently than before.
    mutating func shown(_ views: [OptimisticViews.ID: OverlaidView]) {
        let changed = views.filter { self.known[$0.key] != $0.value }.sorted { $0.key < $1.key }
        self.known = views
        self.events.append([
            "shown": JSONValue(
                list: changed.map { id, view in
                    var members = OverlayCase.members(view)
                    members["view"] = JSONValue(count: Int(id.rawValue))
                    return .object(members)
                }
            )
        ])
    }

    var json: JSONValue {
        var writer = ByteWriter()
        writer.write(model: self.model)
        return [
            "model": .string(Hex.text(writer.bytes)), "now": .string(String(self.now)),
            "events": JSONValue(list: self.events),
        ]
    }

    /// The file `optimistic.json`.
    static func file() throws -> VectorFile {
        var file = VectorFile(
            "optimistic",
            about: "A client that shows its writes before they are confirmed, from its beginning: what it writes and "
                + "receives, in order, and what it shows after each step. `model` is the body of MODEL, `transaction` that "
                + "of TRANSACTION without the key, `request` that of a fetch request; `now` is the time of all writes, in "
                + "microseconds since 1970. `write` is a new write with a number of its own: with `open` a group, which has "
                + "all its steps so far with `grown` and ends with `ended`; with `place` one that comes instead of the "
                + "refused one of this number. `sent`, `own`, `receipt`, `unchanged` (a receipt of nothing), `refused` and "
                + "`again` (an error after which it is sent again) say what becomes of it. `withdrawn`: it was not sent, and "
                + "is gone; `retracted`: its undo was asked for, which `undone` or `restored` (it was not undone) ends. "
                + "`lost`: the connection is lost. `view` has a new state of the server, or other fold states in its "
                + "request; `removed`: it has ended. `shown` lists the views that are now shown differently, as in "
                + "`overlay.json`."
        )
        let traces = try (1...16 as ClosedRange<UInt64>).map { seed in
            let simulation = try OptimisticSimulation(seed: seed, isTraced: true)
            try simulation.run(steps: 50)
            return simulation.trace?.json ?? .null
        }
        file.add("traces", JSONValue(list: traces + (try RememberedRowTests.traces())))
        return file
    }
}
