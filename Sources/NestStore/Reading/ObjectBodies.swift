import NestModel
import NestProtocol
import NestSchema

/// The bodies of OBJECT for objects that clients have requested, so that an object that does not change is read and
/// encoded once.
///
/// Each commit removes the bodies that it may change, revision by revision: those of its objects, and those of the
/// objects that their to-one relationships leave or reach, which count them.
struct ObjectBodies {
    /// The estimated size of an entry without the bytes of its body.
    private static let entryBytes = 96

    /// When it would be passed, all bodies are discarded. A body that takes more than a sixteenth of it is not kept.
    private let bytesMax: Int
    private var bodies: [ObjectID: ObjectBody] = [:]
    private(set) var byteCount = 0
    /// The revision of the bodies.
    private var revision = Revision(0)

    init(bytesMax: Int = Limits.objectBodyBytesMax) {
        self.bytesMax = bytesMax
    }

    var isEmpty: Bool { self.bodies.isEmpty }

    /// Returns the body at `head`, if it is known.
    func body(_ id: ObjectID, head: Revision) -> ObjectBody? {
        self.revision == head ? self.bodies[id] : nil
    }

    /// Keeps the body of an object as it is at `head`.
    mutating func keep(_ body: ObjectBody, of id: ObjectID, head: Revision) {
        if self.revision != head { self.forget() }
        self.revision = head
        let size = Self.size(body)
        guard size <= self.bytesMax / 16 else { return }
        if self.byteCount + size > self.bytesMax { self.forget() }
        self.remove(id)
        self.bodies[id] = body
        self.byteCount += size
    }

    /// Removes what a commit may change. O(changed objects) if there is an entry.
    mutating func take(_ changes: ChangeSet) {
        guard !self.bodies.isEmpty else { return }
        // The change set of a bulk write does not contain all objects.
        guard changes.revision == self.revision.next, changes.blockCount == 0 else { return self.forget() }
        self.revision = changes.revision
        for object in changes.changedRows {
            self.remove(object.id)
            for slot in (object.after ?? object.before)?.values.indices ?? 0..<0 {
                let before = object.before?.values.reference(slot)
                let after = object.after?.values.reference(slot)
                guard before != after else { continue }
                if let before { self.remove(before) }
                if let after { self.remove(after) }
            }
        }
    }

    /// The memory of a body that is kept.
    static func size(_ body: ObjectBody) -> Int { body.bytes.capacity + Self.entryBytes }

    private mutating func remove(_ id: ObjectID) {
        guard let body = self.bodies.removeValue(forKey: id) else { return }
        self.byteCount -= Self.size(body)
    }

    private mutating func forget() {
        self.bodies = [:]
        self.byteCount = 0
    }
}
