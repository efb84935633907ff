import NestProtocol
import NestLiveQuery
import NestModel
import NestStore
import NestSchema

/// A standby's answer to a read that needs only the store. It equals the engine's answer at the revision of the read
/// transaction.
package enum StandbyAnswer: Sendable {
    case reply(EngineReply)
    /// The read takes long, and must run as a background snapshot read.
    case large(BackgroundRead)
    /// Only the engine can answer it.
    case none

    /// Throws failures of the store; refusals are replies. Precondition: a transaction of `reader` is open.
    package init(
        _ request: EngineRequest,
        _ client: EngineShare.Client,
        _ reader: StandingReader,
        backgroundReadRowsMin: Int = Limits.backgroundReadRowsMin
    ) throws(StoreError) {
        guard let revision = reader.revision else { preconditionFailure("a transaction is open") }
        do {
            switch request {
            case .object(let object):
                let body = try reader.read { (objects) throws(StoreError) -> ObjectBody? in
                    guard let confinement = try client.scope.confinement(objects) else {
                        guard let body = try reader.body(object) else { throw StoreError.noObject(object) }
                        return body
                    }
                    // The engine finds the revision that such a client sees in the journal.
                    guard !confinement.hidesChanges(of: object) else { return nil }
                    let detail = try confinement.detail(of: object) { () throws(StoreError) in
                        try reader.detail(object)
                    }
                    return ObjectBody(detail)
                }
                self = body.map { .reply(.object($0)) } ?? .none
            case .fetch(let fetch, _) where client.hasFormerModel && fetch.projection.isEmpty:
                // The engine knows the model that the client was welcomed with.
                self = .none
            case .fetch(let fetch, let atLeast) where atLeast <= revision && fetch.outline == nil:
                self = try reader.read { (objects) throws(StoreError) in
                    try Self.fetch(fetch, client, objects, revision, backgroundReadRowsMin)
                }
            default:
                self = .none
            }
        } catch {
            guard let refusal = error.refusal else { throw error }
            self = .reply(.failure(refusal))
        }
    }

    /// Whether a standby may be able to answer the request.
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
        _ backgroundReadRowsMin: Int
    ) throws(StoreError) -> Self {
        let resolver = RequestResolver(objects: objects, confinement: try client.scope.confinement(objects))
        let resolved = try resolver.resolve(request, mayBeGone: false)
        let source = resolved.source
        // A computed result may read many objects for one row.
        if !source.isComputed, try !objects.hasCandidates(of: source, above: backgroundReadRowsMin) {
            let related = RelatedState(objects)
            let state = LiveState(source, try objects.resultRows(source, related))
            if let answer = try FetchAnswer(resolved, state, objects, revision, rowsMax: backgroundReadRowsMin) {
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
    /// Resolves the scope for a request that is answered from a read transaction. Returns `nil` when everything is
    /// allowed.
    func confinement(_ objects: ObjectReader) throws(StoreError) -> Confinement? {
        switch self {
        case .everything: nil
        case .subtree(let grant): try Confinement(grant, objects)
        }
    }
}

extension EngineReply {
    /// The approximate bytes on the wire if they may be many, otherwise 0.
    package var largeByteCount: Int {
        switch self {
        case .snapshot(_, let rows, let totals): rows.reduce(totals?.count ?? 0) { $0 + $1.bytes.count }
        case .object(let body): body.bytes.count
        default: 0
        }
    }
}
