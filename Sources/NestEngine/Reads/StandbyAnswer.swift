import NestProtocol
import NestLiveQuery
import NestModel
import NestStore
import NestSchema

/// The answer to a read that needs nothing of the engine but the store: the same as the engine's at the revision of the
/// read transaction.
package enum StandbyAnswer: Sendable {
    case reply(EngineReply)
    /// Takes long: to be read on a thread and at a revision of its own.
    case large(BackgroundRead)
    /// Only the engine can answer it.
    case none

    /// Throws failures of the store; refusals are replies. Precondition: a transaction of `reader` is open.
    package init(
        _ request: EngineRequest,
        _ client: EngineShare.Client,
        _ reader: StandingReader,
        asideRowsMin: Int = Limits.asideRowsMin
    ) throws(StoreError) {
        guard let revision = reader.revision else { preconditionFailure("a transaction is open") }
        do {
            switch request {
            case .object(let object):
                let detail = try reader.read { (objects) throws(StoreError) -> ObjectDetail? in
                    let confinement = try client.scope.confinement(objects)
                    // The revision that such a client sees is found in the journal, by the engine.
                    if let confinement, confinement.hidesChanges(of: object) { return nil }
                    return try confinement.detail(of: object) { () throws(StoreError) in try reader.detail(object) }
                }
                self = detail.map { .reply(.object($0)) } ?? .none
            case .fetch(let fetch, let atLeast) where atLeast <= revision:
                self = try reader.read { (objects) throws(StoreError) in
                    try Self.fetch(fetch, client, objects, revision, asideRowsMin)
                }
            default:
                self = .none
            }
        } catch {
            guard let refusal = error.refusal else { throw error }
            self = .reply(.failure(refusal))
        }
    }

    /// Whether it may be one.
    package static func isPossible(_ request: EngineRequest) -> Bool {
        switch request {
        case .object, .fetch: true
        default: false
        }
    }

    private static func fetch(
        _ request: ObjectFetchRequest,
        _ client: EngineShare.Client,
        _ objects: ObjectReader,
        _ revision: Revision,
        _ asideRowsMin: Int
    ) throws(StoreError) -> Self {
        let resolver = RequestResolver(objects: objects, confinement: try client.scope.confinement(objects))
        let resolved = try resolver.resolve(request, mayBeGone: false)
        let source = resolved.source
        // What leads through relationships may read many objects for one row.
        if !source.isComputed, try !objects.hasCandidates(of: source, above: asideRowsMin) {
            let related = RelatedState(objects)
            let state = LiveState(source, try objects.resultRows(source, related))
            if let answer = try FetchAnswer(resolved, state, objects, revision, rowsMax: asideRowsMin) {
                return .reply(answer.reply)
            }
        }
        return .large(
            BackgroundRead(
                id: 0,
                source: source,
                slots: resolved.slots,
                window: resolved.window,
                anchorMayBeMissing: false,
                compresses: client.takesCompressed
            )
        )
    }
}

extension AuthorisationScope {
    /// What it means for a request that is answered from a read transaction; `nil` when everything is allowed.
    func confinement(_ objects: ObjectReader) throws(StoreError) -> Confinement? {
        switch self {
        case .everything: nil
        case .subtree(let grant): try Confinement(grant, objects)
        }
    }
}

extension EngineReply {
    /// About how many bytes it takes on the wire, when it may be many.
    package var largeByteCount: Int {
        switch self {
        case .snapshot(_, let rows): rows.reduce(0) { $0 + $1.bytes.count }
        case .object(let detail): detail.values.reduce(0) { $0 + $1.value.largeByteCount }
        default: 0
        }
    }
}

extension AttributeValue {
    fileprivate var largeByteCount: Int {
        switch self {
        case .string(let text): text.utf8.count
        case .data(let bytes): bytes.count
        default: 8
        }
    }
}
