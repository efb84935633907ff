import NestModel
import NestSchema

/// The token scope of a client: it may read and change an object and everything below it, as if nothing else existed.
/// All decisions about a token scope are made here.
///
/// The client sees the attributes of these objects and the hierarchy itself. Other relationships lead out of the scope,
/// and are refused. A request is also refused if its failure would reveal other objects, as for a value that must be
/// unique. Created for one request, before the request changes anything, because it caches what it has looked up.
package final class Confinement {
    package let grant: AccessConfinement
    /// The sub-tree, whose members are below the root.
    package let key: SubtreeKey
    let layout: EntityLayout
    let model: ManagedObjectModel
    private let objects: ObjectReader
    /// Decides membership without reading the store, if it knows the sub-tree.
    private let members: (any SubtreeMembership)?
    private var known: [ObjectID: Bool] = [:]

    /// Refuses a confinement that the model no longer has.
    package init(
        _ grant: AccessConfinement,
        _ objects: ObjectReader,
        _ members: (any SubtreeMembership)? = nil
    ) throws(StoreError) {
        guard let key = objects.layout.subtree(grant), let layout = objects.layout[key.table] else {
            throw .refused(.notPermitted, "the model no longer has the sub-tree that the token is confined to")
        }
        self.grant = grant
        self.key = key
        self.layout = layout
        self.model = objects.layout.model
        self.objects = objects
        self.members = members
    }

    /// The to-one relationship that leads up.
    var up: PropertyNumber { self.layout.properties[self.key.slot] }
    /// The to-many relationship that leads down.
    var down: PropertyNumber { self.grant.relationship }

    /// Whether an object exists and is in the scope: the root, or below it. One look-up if the members of the sub-tree
    /// are known, otherwise O(levels above the object).
    package func contains(_ id: ObjectID) throws(StoreError) -> Bool {
        var way: [ObjectID] = []
        var answer = false
        var next = id
        while true {
            if let known = self.known[next] {
                answer = known
                break
            }
            if let isMember = self.members?.contains(next) {
                answer = isMember
                break
            }
            guard let above = try self.objects.reference(self.key.table, self.key.slot, of: next) else { break }
            way.append(next)
            if next == self.key.root {
                answer = true
                break
            }
            guard let owner = above.id else { break }
            next = owner
        }
        for id in way { self.known[id] = answer }
        return answer
    }

    /// Whether an object of the sub-tree's table exists, in the scope or not.
    func exists(_ id: ObjectID) throws(StoreError) -> Bool {
        try self.objects.reference(self.key.table, self.key.slot, of: id) != nil
    }

    /// Refuses an object out of scope in the same way as an object that does not exist.
    package func require(_ id: ObjectID) throws(StoreError) {
        guard try self.contains(id) else { throw ObjectGraph.notFound(id) }
    }

    /// Returns the visible part of an object in the scope.
    package func visible(_ detail: ObjectDetail) -> ObjectDetail {
        var detail = detail
        detail.values = detail.values.compactMap { property, value in
            if property == self.up { return (property, detail.id == self.key.root ? .null : value) }
            return self.isRelationship(property) ? nil : (property, value)
        }
        detail.counts = detail.counts.filter { $0.property == self.down }
        return detail
    }

    func isRelationship(_ property: PropertyNumber) -> Bool {
        guard let slot = self.layout.slot(of: property), case .attribute = self.layout.slots[slot] else { return true }
        return false
    }

    func name(_ property: PropertyNumber) -> String { self.layout.relationshipName(property) }

    static func leadsOut(_ name: String) -> StoreError {
        .refused(.notPermitted, "\(name) leads out of the sub-tree that the token is confined to")
    }
}

extension ObjectReader {
    /// Returns the content of a to-one slot of an object; `nil` if there is no such object in the table.
    func reference(_ table: EntityNumber, _ slot: Int, of id: ObjectID) throws(StoreError) -> Reference? {
        try self.table(table).reference(slot, of: id)
    }
}

/// The content of a to-one slot. `id` is `nil` for null.
struct Reference {
    var id: ObjectID?
}
