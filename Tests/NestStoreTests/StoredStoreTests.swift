import NestModel
import NestStore
import NestTestSupport
import Testing

#if canImport(Glibc)
import Glibc
import NestSchema
#endif

/// Stores that earlier builds have made, from the repository.
@Suite struct StoredStoreTests {
    private let directory = TemporaryDirectory()

    /// Returns the path of a copy that may be written.
    private func copy(_ name: String) throws -> String {
        let path = "\(self.directory.path)/\(name)"
        let bytes = try Repository.bytes("Tests/Fixtures/\(name)")
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        try #require(write(descriptor, bytes, bytes.count) == bytes.count)
        return path
    }

    private static func toMany(_ name: String, _ destination: String, _ inverse: String, isOrdered: Bool)
        -> RelationshipDraft
    {
        var relationship = RelationshipDraft(name: name, destination: destination, inverse: inverse)
        relationship.isToMany = true
        relationship.isOrdered = isOrdered
        return relationship
    }

    /// The model that the phone book was made with.
    private static var phones: ModelDraft {
        var user = EntityDraft(name: "User")
        user.attributes = [AttributeDraft(name: "name", type: .string), AttributeDraft(name: "createdAt", type: .date)]
        user.attributes[0].minimum = .integer(1)
        user.attributes[1].defaultsToNow = true
        user.relationships = [
            Self.toMany("phones", "Phone", "user", isOrdered: true),
            Self.toMany("tags", "Tag", "users", isOrdered: true),
        ]
        user.relationships[0].deleteRule = .cascade
        var phone = EntityDraft(name: "Phone")
        phone.attributes = [AttributeDraft(name: "number", type: .string), AttributeDraft(name: "kind", type: .string)]
        phone.attributes[1].isOptional = true
        phone.relationships = [RelationshipDraft(name: "user", destination: "User", inverse: "phones")]
        phone.relationships[0].isOptional = false
        phone.uniquenessConstraints = [["number"]]
        var tag = EntityDraft(name: "Tag")
        tag.attributes = [AttributeDraft(name: "title", type: .string)]
        tag.relationships = [Self.toMany("users", "User", "tags", isOrdered: false)]
        return ModelDraft(entities: [user, phone, tag])
    }

    private func openStore(_ path: String, _ draft: ModelDraft) throws -> Store {
        try Store(.init(location: .file(path), model: draft.compile()), newHistoryID: Identifier128(high: 1, low: 1))
    }

    private static func value(_ store: Store, _ id: Int64, _ property: String) throws -> AttributeValue {
        let detail = try #require(try store.access { try store.detail(ObjectID(id)) })
        let number = try #require(store.layout.model.entity(detail.entity)?.propertyNumber(named: property))
        return try #require(detail.values.first { $0.property == number }).value
    }

    private static func revert(_ store: Store, _ revision: UInt64) throws {
        try store.access {
            let entry = try #require(try store.pastTransaction(Revision(revision)))
            let group = try store.beginGroup(time: 1, alwaysSavepoint: true)
            _ = try group.request(inSavepoint: true) { graph in
                try graph.revert(entry, UndoOptions(policy: .strict), store.layout)
                return WriteDescription(name: "undo", key: nil, requestHash: 0, sessionNumber: 1)
            }
            try group.commit()
        }
    }

    @Test func aStoreOfFormat2IsOpenedWithoutMigration() throws {
        let store = try self.openStore(try self.copy("phones-format-2.sqlite"), Self.phones)
        #expect(store.migration == nil)
        #expect(store.head == Revision(8))
        #expect(try Self.value(store, 1, "name") == .string("Ann"))
        #expect(try Self.value(store, 3, "user") == .reference(ObjectID(1)))
        try Self.revert(store, 8)
        #expect(try Self.value(store, 2, "name") == .string("Bea"))
        try store.close()
    }

    @Test func aStoreOfFormat2IsMigrated() throws {
        var draft = Self.phones
        draft.entities[0].name = "Person"
        draft.entities[0].renamedFrom = "User"
        draft.entities[0].attributes.append(AttributeDraft(name: "level", type: .integer32))
        draft.entities[0].attributes[2].defaultValue = .integer(1)
        draft.entities[1].relationships[0].destination = "Person"
        draft.entities[2].relationships[0].destination = "Person"
        draft.entities[2].relationships[0].isOrdered = true
        var friend = EntityDraft(name: "Friend")
        friend.parent = "Person"
        draft.entities.append(friend)
        let store = try self.openStore(try self.copy("phones-format-2.sqlite"), draft)
        #expect(try #require(store.migration).differences.count == 4)
        #expect(try Self.value(store, 1, "level") == .integer(1))
        // An object that was deleted before the migration is restored in its new form, with its tag.
        try Self.revert(store, 8)
        #expect(try Self.value(store, 2, "name") == .string("Bea"))
        #expect(try Self.value(store, 2, "level") == .integer(1))
        let tag = try #require(try store.access { try store.detail(ObjectID(5)) })
        #expect(tag.counts.map(\.count) == [2])
        try store.close()
    }

    /// A store of the format before users and expiries: its tokens and its history have neither, and an older nestd,
    /// which would ignore an expiry, cannot open it afterwards.
    @Test func aStoreOfFormat5IsUpgraded() throws {
        let path = "\(self.directory.path)/format-5.sqlite"
        let configuration = Store.Configuration(location: .file(path), model: .nestedList)
        var store = try Store(configuration, newHistoryID: Identifier128(high: 1, low: 1))
        let secret = TokenSecret(high: Identifier128(high: 1, low: 2), low: Identifier128(high: 3, low: 4))
        let grant = TokenGrant(name: "me", role: .admin)
        _ = try store.access { try store.createToken(grant, secretHash: secret, now: 1) }
        try store.close()
        try self.setFormat(5, path)
        store = try Store(configuration, newHistoryID: Identifier128(high: 1, low: 1))
        #expect(try store.access { try store.tokens() }.map(\.description.grant) == [grant])
        try store.close()
        #expect(try self.format(path) == 10)
    }

    /// The offset of the format in the header of an SQLite file, in four bytes.
    private static let formatOffset: off_t = 60

    private func format(_ path: String) throws -> UInt32 {
        let descriptor = open(path, O_RDONLY)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        var bytes: UInt32 = 0
        try #require(pread(descriptor, &bytes, 4, Self.formatOffset) == 4)
        return UInt32(bigEndian: bytes)
    }

    private func setFormat(_ format: UInt32, _ path: String) throws {
        let descriptor = open(path, O_WRONLY)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        var bytes = format.bigEndian
        try #require(pwrite(descriptor, &bytes, 4, Self.formatOffset) == 4)
    }
}
