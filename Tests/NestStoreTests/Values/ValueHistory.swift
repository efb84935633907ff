import NestModel
import NestProtocol
import NestTestSupport
import Testing

@testable import NestStore

extension Store {
    /// Puts a whole value. Each part is a commit, after which `between` runs.
    func put(
        _ staged: StagedValue,
        of session: UInt64,
        now: Int64,
        between: () throws -> Void = {}
    ) throws -> LargeValue {
        let put = ValuePut(staged, of: session, piecesPerPart: 2)
        do {
            while true {
                if let value = try self.write(put, unsaved: nil, now: now) { return value }
                try between()
            }
        } catch {
            try self.abandon(put)
            throw error
        }
    }
}

/// A random history of objects with large values, against a dictionary of their bytes. Also with a follower, which must
/// have equal tables, and takes the lead at times.
final class ValueHistory {
    static let photo = EntityNumber(1)
    static let title = PropertyNumber(1)
    static let image = PropertyNumber(2)
    static let note = PropertyNumber(3)
    static let model = ManagedObjectModel(entities: [
        EntityDescription(
            number: 1,
            name: "Photo",
            attributes: [
                AttributeDescription(number: 1, name: "title", type: .string),
                AttributeDescription(number: 2, name: "image", type: .largeData, isOptional: true),
                AttributeDescription(number: 3, name: "note", type: .largeText, isOptional: true),
            ],
            relationships: []
        )
    ])

    /// What an object has, as the oracle knows it.
    struct Photo: Equatable {
        var title: String
        var values: [PropertyNumber: [UInt8]] = [:]
    }

    /// The objects before and after a revision.
    private struct Change {
        var revision: Revision
        var before: [ObjectID: Photo]
        var after: [ObjectID: Photo]
        var ids: [ObjectID]
    }

    let fixture: Fixture
    let what: String
    private var random: SeededRandom
    private var photos: [ObjectID: Photo] = [:]
    private var changes: [Change] = []
    private(set) var counts: [String: Int] = [:]
    private var number = 0

    init(seed: UInt64, isReplicated: Bool) throws {
        self.what = "NEST_SEED=\(seed)\(isReplicated ? ", with a follower" : "")"
        self.random = SeededRandom(seed: seed)
        self.fixture = try Fixture(Self.model, inMemory: true, isReplicated: isReplicated) { $0.streamedFrom = 3 }
    }

    private var store: Store { self.fixture.store }
    private func count(_ name: String) { self.counts[name, default: 0] += 1 }

    func run(steps: Int) throws {
        for _ in 0..<steps {
            try self.step()
            try self.compare()
        }
        try self.trim(all: true)
        try self.compare()
        let held = self.photos.values.reduce(0) { $0 + $1.values.count }
        let (isHeld, base) = ("object NOTNULL AND freed ISNULL", self.store.oldestBase.rawValue)
        #expect(try self.values("SELECT count(*) FROM nest_value WHERE \(isHeld)") == held, "\(self.what)")
        #expect(try self.values("SELECT count(*) FROM nest_value WHERE freed <= \(base)") == 0, "\(self.what)")
    }

    func values(_ sql: String) throws -> Int {
        var found = 0
        try self.store.forEachRow(sql) {
            found = Int($0.integer(0))
            return true
        }
        return found
    }

    // MARK: Steps

    private func step() throws {
        switch self.random.below(20) {
        case 0...3: try self.insert()
        case 4...8: try self.set()
        case 9: try self.clear()
        case 10...11: try self.delete()
        case 12...15: try self.revert()
        case 16: try self.trim(all: false)
        case 17: try self.misuse()
        case 18:
            try self.fixture.reopen()
            self.count("reopened")
        default:
            guard self.fixture.replica != nil else { return }
            try self.fixture.exchange()
            self.count("exchanged")
        }
    }

    private func bytes(_ property: PropertyNumber) -> [UInt8] {
        let count = self.random.oneIn(6) ? 60_000 + self.random.below(150_000) : self.random.below(100)
        self.number += 1
        guard property == Self.note else { return Array("\(self.number):".utf8) + self.random.bytes(count) }
        return Array(("\(self.number) " + String(repeating: "aé€😀", count: count / 10)).utf8)
    }

    /// Cuts bytes as the server does, and states their digest.
    func staged(_ bytes: [UInt8], _ type: AttributeType, digest: [UInt8]? = nil) throws -> StagedValue {
        var chunks = try SpooledChunks(directory: self.fixture.directory.path)
        for start in stride(from: 0, to: bytes.count, by: Limits.largeValuePieceBytes) {
            try chunks.append(Array(bytes[start..<min(start + Limits.largeValuePieceBytes, bytes.count)]))
        }
        var hash = RunningHash()
        hash.update(bytes)
        let own = hash.finishWhole()
        return StagedValue(type: type, length: bytes.count, digest: digest ?? own, chunks: chunks)
    }

    func put(_ bytes: [UInt8], _ type: AttributeType, of session: UInt64 = 1) throws -> LargeValue {
        let staged = try self.staged(bytes, type)
        return try self.store.access {
            try self.store.put(staged, of: session, now: self.fixture.time) { try self.meddle(session) }
        }
    }

    /// What others do between two parts of a value.
    private func meddle(_ session: UInt64) throws {
        self.count("in parts")
        switch self.random.below(6) {
        case 0: try self.trim(all: false)
        case 1: _ = try self.store.put(try self.staged([7], .largeData), of: 3, now: self.fixture.time)
        case 2:
            // Nothing sets what has not arrived. Its number is the newest one.
            let id = Int64(try self.values("SELECT max(id) FROM nest_value"))
            guard let photo = self.anyID() else { return }
            for digest in [[UInt8](repeating: 0, count: 32), self.random.bytes(32)] {
                let value = LargeValue(id: id, length: 3, digest: digest)
                #expect(throws: StoreError.self, "\(self.what)") { try self.assign(photo, Self.image, value) }
            }
        default: break
        }
    }

    private func type(_ property: PropertyNumber) -> AttributeType {
        property == Self.note ? .largeText : .largeData
    }

    private func write(_ mutations: [Mutation], _ name: String, _ change: (inout [ObjectID: Photo]) -> [ObjectID])
        throws
    {
        let before = self.photos
        try self.fixture.commit(inSavepoint: self.random.oneIn(2)) { graph in
            _ = try graph.perform(WriteTransaction(mutations: mutations))
        }
        let ids = change(&self.photos)
        self.changes.append(Change(revision: self.store.head, before: before, after: self.photos, ids: ids))
        self.count(name)
    }

    private func insert() throws {
        let title = "photo \(self.number)"
        var photo = Photo(title: title)
        var values = [PropertyAssignment(Self.title, .value(.string(title)))]
        for property in [Self.image, Self.note] where self.random.oneIn(2) {
            let bytes = self.bytes(property)
            values.append(PropertyAssignment(property, .value(try self.put(bytes, self.type(property)).value)))
            photo.values[property] = bytes
        }
        let id = ObjectID(self.store.nextObjectID)
        try self.write([.insert(entity: Self.photo, values: values, placements: [])], "inserted") { photos in
            photos[id] = photo
            return [id]
        }
    }

    private func anyID() -> ObjectID? {
        self.photos.keys.sorted().isEmpty ? nil : self.random.pick(self.photos.keys.sorted())
    }

    private func set() throws {
        guard let id = self.anyID() else { return }
        let property = self.random.pick([Self.image, Self.note])
        let bytes = self.bytes(property)
        let value = try self.put(bytes, self.type(property))
        var mutations: [Mutation] = [
            .update(.object(id), values: [PropertyAssignment(property, .value(value.value))])
        ]
        // Set, cleared and set again in one transaction.
        if self.random.oneIn(4) {
            mutations.append(.update(.object(id), values: [PropertyAssignment(property, .value(.null))]))
            mutations.append(mutations[0])
        }
        try self.write(mutations, "set") { photos in
            photos[id]!.values[property] = bytes
            return [id]
        }
    }

    private func clear() throws {
        guard let id = self.anyID(), let property = self.photos[id]!.values.keys.sorted().first else { return }
        let mutation = Mutation.update(.object(id), values: [PropertyAssignment(property, .value(.null))])
        try self.write([mutation], "cleared") { photos in
            photos[id]!.values[property] = nil
            return [id]
        }
    }

    /// Deletes one object or many, whose changes are then streamed.
    private func delete() throws {
        guard let one = self.anyID() else { return }
        let ids = self.random.oneIn(3) ? self.photos.keys.sorted() : [one]
        try self.write(ids.map { .delete(.object($0)) }, "deleted") { photos in
            for id in ids { photos[id] = nil }
            return ids
        }
    }

    /// Reverts a recent revision, as undo, redo and revert do.
    private func revert() throws {
        let known = self.changes.suffix(4).filter { $0.revision > self.store.oldestBase }
        guard let change = known.isEmpty ? nil : self.random.pick(Array(known)) else { return }
        let isPossible = change.ids.allSatisfy { self.photos[$0] == change.after[$0] }
        let before = self.photos
        let head = self.store.head
        do {
            try self.fixture.revert(change.revision)
        } catch let StoreError.refused(error) {
            #expect(!isPossible, "\(self.what): \(error)")
            return self.count("refused")
        }
        guard self.store.head > head else { return }
        // A part may also be taken back: that of properties without later changes.
        for id in change.ids {
            if isPossible {
                self.photos[id] = change.before[id]
            } else {
                self.takeBack(change, id)
            }
        }
        self.changes.append(
            Change(revision: self.store.head, before: before, after: self.photos, ids: change.ids)
        )
        self.count(isPossible ? "reverted" : "partly reverted")
    }

    private func takeBack(_ change: Change, _ id: ObjectID) {
        guard let old = change.before[id], let new = change.after[id], var now = self.photos[id] else {
            if change.after[id] == self.photos[id] { self.photos[id] = change.before[id] }
            return
        }
        for property in [Self.image, Self.note] where old.values[property] != new.values[property] {
            now.values[property] = old.values[property]
        }
        self.photos[id] = now
    }

    private func trim(all: Bool) throws {
        let rows = all ? 10_000 : self.random.below(4)
        let dropped = try self.store.access {
            try self.store.trimJournal(now: self.fixture.time, bytesMax: 0, rowsMax: rows)
        }
        if dropped != nil { self.count("trimmed") }
    }

    /// Each misuse is refused, and changes nothing.
    private func misuse() throws {
        guard let id = self.anyID() else { return }
        let bytes = self.bytes(Self.image)
        let (code, body): (ErrorCode, () throws -> Void) =
            switch self.random.below(6) {
            case 0: (.validationFailed, { try self.assign(id, Self.image, try self.put(bytes, .largeData, of: 2)) })
            case 1: (.validationFailed, { try self.assign(id, Self.note, try self.put(bytes, .largeData)) })
            case 2:
                (
                    .validationFailed,
                    {
                        let value = LargeValue(id: 9_999, length: 3, digest: self.random.bytes(32))
                        try self.assign(id, Self.image, value)
                    }
                )
            case 3:
                (
                    .validationFailed,
                    {
                        // Two objects cannot have one value.
                        let value = try self.put(bytes, .largeData).value
                        let values = [
                            PropertyAssignment(Self.title, .value(.string("x"))),
                            PropertyAssignment(Self.image, .value(value)),
                        ]
                        let insert = Mutation.insert(entity: Self.photo, values: values, placements: [])
                        try self.fixture.commit { _ = try $0.perform(WriteTransaction(mutations: [insert, insert])) }
                    }
                )
            case 4:
                (
                    .checksum,
                    {
                        let staged = try self.staged(bytes, .largeData, digest: self.random.bytes(32))
                        _ = try self.store.access {
                            try self.store.put(staged, of: 1, now: self.fixture.time)
                        }
                    }
                )
            default: (.invalidText, { _ = try self.put([0x61, 0xe2, 0x82], .largeText) })
            }
        do {
            try body()
            Issue.record("\(self.what): a misuse is not refused with \(code)")
        } catch let StoreError.refused(error) {
            #expect(error.code == code, "\(self.what): \(error)")
        }
        self.count("misused")
    }

    private func assign(_ id: ObjectID, _ property: PropertyNumber, _ value: LargeValue) throws {
        try self.fixture.perform(.update(.object(id), values: [PropertyAssignment(property, .value(value.value))]))
    }

    // MARK: The oracle

    private func compare() throws {
        for (id, photo) in self.photos.sorted(by: { $0.key < $1.key }) {
            for property in [Self.image, Self.note] {
                let read = try self.read(id, property)
                #expect(read == photo.values[property], "\(self.what): \(id).\(property)")
            }
        }
        if let replica = self.fixture.replica {
            try replica.catchUp()
            let isEqual = try replica.isEqual(to: self.store)
            if !isEqual { Issue.record("\(self.what): \(try replica.store.differences(from: self.store))") }
        }
        let report = try self.store.reader.check(deadline: .none) { _ in }
        #expect(report.problems == [], "\(self.what)")
    }

    /// Reads a value, at times from the middle; `nil` if there is none.
    private func read(_ id: ObjectID, _ property: PropertyNumber) throws -> [UInt8]? {
        do {
            let whole = try self.read(id, property, from: 0)
            guard !whole.isEmpty, self.random.oneIn(3) else { return whole }
            let offset = self.random.below(whole.count + 1)
            return Array(whole[..<offset]) + (try self.read(id, property, from: offset))
        } catch let error as NestError where error.code == .notFound {
            return nil
        }
    }

    private func read(_ id: ObjectID, _ property: PropertyNumber, from offset: Int) throws -> [UInt8] {
        let export = try self.store.reader.exportValue(
            of: id,
            property,
            from: offset,
            atLeast: self.store.head,
            isCompressed: self.random.oneIn(2),
            deadline: .none
        )
        var bytes: [UInt8] = []
        var position = 0
        while let (chunk, next) = try export.chunks.chunk(at: position) {
            position = next
            bytes += try PackedBytes.unpack(chunk, sizeMax: Limits.chunkUnpackedBytesMax)
        }
        #expect(bytes.count == export.byteCount && export.value.length == offset + bytes.count, "\(self.what)")
        return bytes
    }
}
