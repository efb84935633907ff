import NestProtocol
import NestEngine
import NestModel
import NestStore
import NestTestSupport
import Testing
import NestSchema

/// A client that follows changes without a socket. It blocks, drains, reads its pages slowly, disconnects and
/// reconnects, and keeps a mirror of the store. Only the changes that it receives invalidate values of the mirror.
final class ChangeFollower {
    let session: Identifier128
    let entities: [EntityNumber]
    private(set) var connection = ConnectionID(0)
    private var view: UInt32?
    private(set) var position: ResumePoint?
    private var place = 0
    private(set) var isBlocked = false
    /// Whether the engine waits until the connection has drained before it sends the next page.
    private(set) var awaitsDrain = false
    private(set) var ended: ErrorCode?
    /// The received changes, by revision. If `place` is not 0, those of the next revision are incomplete.
    private(set) var objects: [Revision: [ObjectID: ChangedObject]] = [:]
    /// The objects that a revision has listed as inserted or deleted.
    private var listed: [Revision: Set<ObjectID>] = [:]
    private var names: [Revision: String] = [:]
    private(set) var parts = 0
    private(set) var resumedInside = 0

    struct Mirrored {
        var entity: EntityNumber
        /// The values that have not been invalidated.
        var values: [PropertyNumber: [AttributeValue]] = [:]
    }

    private(set) var mirror: [ObjectID: Mirrored] = [:]

    init(session: UInt64, entities: [EntityNumber] = [], since: ResumePoint? = nil) {
        self.session = Identifier128(high: 0xf0110, low: session)
        self.entities = entities
        self.position = since
    }

    // MARK: Inputs

    /// Connects and resumes from its position.
    func connect(as connection: ConnectionID, requestID: UInt32 = 1) -> [EngineInput] {
        self.connection = connection
        self.view = nil
        self.isBlocked = false
        self.awaitsDrain = false
        if self.place > 0 { self.resumedInside += 1 }
        return [
            .connected(connection, session: self.session, scope: .everything),
            .request(
                connection,
                requestID: requestID,
                .subscribeChanges(since: self.position, place: self.place, entities: self.entities)
            ),
        ]
    }

    func block() -> EngineInput {
        self.isBlocked = true
        return .blocked(self.connection)
    }

    func drain() -> EngineInput {
        self.isBlocked = false
        self.awaitsDrain = false
        return .drained(self.connection)
    }

    var isInside: Bool { self.place > 0 }
    var isUpToDate: Bool { !self.isBlocked && !self.awaitsDrain && self.place == 0 }

    // MARK: Effects

    func take(_ effect: EngineEffect, _ what: String) throws {
        switch effect {
        case .reply(let id, _, let reply) where id == self.connection:
            switch reply {
            case .subscribed(let view, .current(let revision), _, _):
                self.view = view
                if self.position == nil { self.position = ResumePoint(historyID: self.historyID, revision: revision) }
                self.firstRevision = self.firstRevision ?? revision
                #expect(self.position?.revision == revision, "\(what): it begins at another revision")
            case .failure(let error): self.ended = error.code
            default: break
            }
        case .welcome(let id, let welcome) where id == self.connection:
            self.historyID = welcome.historyID
        case .push(let push, let to) where to.contains(self.connection):
            #expect(push.view == self.view, "\(what): a push for an unknown view")
            #expect(!self.isBlocked, "\(what): a push to a blocked connection")
            switch push.content {
            case .changeSet(let body):
                #expect(body.bytes.count <= Limits.frameBytesMax, "\(what): a part does not fit in a frame")
                try self.take(
                    ByteReader.read(body.bytes) { (reader) throws(DecodingFailure) in
                        let part = try reader.changeSetPart()
                        try reader.finish("part")
                        return part
                    },
                    what
                )
            case .end(let code, _): self.ended = code
            default: Issue.record("\(what): \(push) for changes")
            }
        case .progress(let revision, let to) where to.contains(self.connection):
            #expect(self.place == 0 && !self.awaitsDrain, "\(what): progress while the follower lags")
            self.position!.revision = max(self.position!.revision, revision)
        case .whenDrained(let id) where id == self.connection:
            self.awaitsDrain = true
        default: break
        }
    }

    private var firstRevision: Revision?
    /// The revision after which it follows changes.
    var start: Revision { self.firstRevision ?? Revision(0) }
    private var historyID = Identifier128(high: 0, low: 0)

    private func take(_ part: ChangeSetPart, _ what: String) {
        self.parts += 1
        let revision = part.revision
        #expect(revision > self.position!.revision, "\(what): revision \(revision) is sent twice")
        if self.place > 0 {
            #expect(revision == self.position!.revision.next, "\(what): a change set is incomplete")
            #expect(part.place == 0 || part.place > self.place, "\(what): places do not ascend")
        } else {
            #expect(self.objects[revision] == nil, "\(what): revision \(revision) is sent twice")
        }
        self.names[revision] = part.name
        for object in part.objects { self.take(object, revision, what) }
        self.place = part.place
        self.position!.revision = part.hasMore ? Revision(revision.rawValue - 1) : revision
    }

    private func take(_ object: ChangedObject, _ revision: Revision, _ what: String) {
        var all = self.objects[revision, default: [:]]
        if object.kind != .updated {
            let isNew = self.listed[revision, default: []].insert(object.id).inserted
            #expect(isNew, "\(what): \(object.id) is inserted or deleted twice")
        }
        #expect(object.kind == .updated ? !object.properties.isEmpty : object.properties.isEmpty, "\(what): \(object)")
        #expect(object.properties == Set(object.properties).sorted(), "\(what): \(object)")
        if var known = all[object.id] {
            if known.kind == .updated {
                let properties = Set(known.properties).union(object.properties)
                known = object
                if object.kind == .updated { known.properties = properties.sorted() }
            }
            all[object.id] = known
        } else {
            all[object.id] = object
        }
        self.objects[revision] = all
        switch object.kind {
        case .inserted: self.mirror[object.id] = Mirrored(entity: object.entity)
        case .deleted: self.mirror[object.id] = nil
        case .updated: for property in object.properties { self.mirror[object.id]?.values[property] = nil }
        }
    }

    /// Checks the values that are still valid against the store, and reads all values again.
    func checkMirror(_ naive: NaiveResults, _ what: String) {
        let live = naive.rows.filter { naive.entity($0.value.entity) != nil }
        #expect(self.mirror.mapValues(\.entity) == live.mapValues(\.entity), "\(what): the objects of the mirror")
        for (id, row) in live {
            guard let entity = naive.entity(row.entity), self.mirror[id] != nil else { continue }
            var values: [PropertyNumber: [AttributeValue]] = [:]
            for property in entity.storedProperties { values[property] = [naive.value(property, of: id)] }
            for relationship in entity.relationships where relationship.isToMany && relationship.join != nil {
                values[relationship.number] = naive.related(id, relationship).map { .reference($0) }
            }
            for (property, kept) in self.mirror[id]!.values {
                #expect(kept == values[property], "\(what): no change named property \(property.rawValue) of \(id)")
            }
            self.mirror[id]!.values = values
        }
    }
}
