import NestModel
import NestStore
import NestSchema

/// The members of one token scope: all objects below its root. A lookup here decides whether an object is in the scope.
///
/// The engine reads the members from the root down, one slice at a time, and applies every change as it is made, also
/// during the reading. An object that is placed below a member becomes a member; if it may have unknown objects below
/// it, those are read too. So at any time every object of the scope is a member or is below an unread member, and every
/// member is in the scope.
///
/// The changes of a group are applied request by request, and reverted when the group is rolled back.
final class ScopeMembers: SubtreeMembership {
    let key: SubtreeKey
    private let objects: ObjectReader
    private let children: ChildReader
    private(set) var members = ObjectBitmap()
    /// Whether the root exists; `nil`: not looked up yet.
    private var hasRoot: Bool?
    /// Members (or the root) whose children are not all known yet. The last one is read next.
    private var unread: [ObjectID]
    /// The member that is being read, and the position of its last child that was read.
    private var page: (owner: ObjectID, position: Int64?)?

    // MARK: Open group

    private struct Mark {
        let wasComplete: Bool
        let unreadCount: Int
        let hasRoot: Bool?
    }
    private var mark: Mark?
    /// The rows that the group may still read. When they are used up, the members are read anew between commits.
    private var groupRowsLeft = 0
    /// Whether the group changed more than could be followed.
    private var isLost = false
    /// Objects that were not members when changes of the current request put other objects below them.
    private var awaited = ObjectBitmap()
    /// Whether the current request changes only one object; `awaited` is not needed then.
    private var isAlone = false

    private static let pageRows = 256

    init(_ key: SubtreeKey, _ objects: ObjectReader) {
        self.key = key
        self.objects = objects
        self.children = ChildReader(objects, key)
        self.unread = [key.root]
    }

    /// Whether all members are known.
    var isComplete: Bool { !self.isLost && self.unread.isEmpty && self.page == nil && self.hasRoot != nil }
    var byteCount: Int { self.members.byteCount + self.unread.capacity * MemoryLayout<ObjectID>.stride }

    func contains(_ id: ObjectID) -> Bool? {
        if self.isLost { return nil }
        if id == self.key.root { return self.hasRoot }
        if self.members.contains(id) { return true }
        return self.isComplete ? false : nil
    }

    /// Whether the children of one member have been read in part.
    var isPartlyRead: Bool { self.page != nil }

    private func isAbove(_ owner: ObjectID) -> Bool { owner == self.key.root || self.members.contains(owner) }

    // MARK: Reading

    /// Reads further members. Returns the number of rows read: one for each object and one for each page.
    func read(rowsMax: Int) throws(StoreError) -> Int {
        if self.hasRoot == nil { self.hasRoot = try self.objects.exists(self.key.root, self.key.table, self.key.slot) }
        var rows = 0
        while rows < rowsMax, let next = self.page ?? self.unread.last.map({ (owner: $0, position: nil) }) {
            rows += try self.readPage(of: next.owner, after: next.position, limit: min(Self.pageRows, rowsMax - rows))
        }
        return rows
    }

    private func readPage(of owner: ObjectID, after position: Int64?, limit: Int) throws(StoreError) -> Int {
        // An object that has left the scope since has no members below it.
        let page = self.isAbove(owner) ? try self.children.page(of: owner, after: position, limit: limit) : []
        if self.page == nil { self.unread.removeLast() }
        self.page = page.count == limit ? page.last.map { (owner, $0.position) } : nil
        for row in page where row.id != self.key.root && self.members.insert(row.id) { self.unread.append(row.id) }
        return page.count + 1
    }

    // MARK: Changes

    /// Begins a group, which may read up to `rowsMax` rows to follow its changes.
    func beginGroup(rowsMax: Int) {
        self.mark = Mark(wasComplete: self.isComplete, unreadCount: self.unread.count, hasRoot: self.hasRoot)
        self.groupRowsLeft = rowsMax
        self.members.beginLog()
    }

    /// Ends a group that is durable.
    func endGroup() {
        self.mark = nil
        self.members.endLog()
        guard self.isLost else { return }
        self.isLost = false
        self.members.removeAll()
        (self.hasRoot, self.unread, self.page) = (nil, [self.key.root], nil)
    }

    /// Reverts the changes of a group that is rolled back.
    func rollBackGroup() {
        guard let mark else { return }
        self.mark = nil
        self.isLost = false
        self.members.rollBack()
        self.hasRoot = mark.hasRoot
        // A group that begins during the reading only appends to `unread`.
        self.unread.removeSubrange(mark.unreadCount...)
        if mark.wasComplete { self.page = nil }
    }

    /// Begins a request. `isAlone`: it changed only one object.
    func beginRequest(isAlone: Bool) { self.isAlone = isAlone }

    /// Applies the change of one object of the table. The changes of a request may come in any order; the store already
    /// contains all of them. `owner`: the object that it is below now; `nil` if there is none or the object was
    /// deleted.
    func take(_ id: ObjectID, wasThere: Bool, isThere: Bool, owner: ObjectID?) {
        if id == self.key.root { return self.hasRoot = isThere }
        guard !self.isLost else { return }
        if let owner, self.isAbove(owner) {
            guard self.members.insert(id) else { return }
            if wasThere || self.awaited.contains(id) { self.unread.append(id) }
            return
        }
        if let owner, !self.isAlone { self.awaited.insert(owner) }
        guard self.members.remove(id), isThere else { return }
        self.following { () throws(StoreError) in try self.removeBelow(id) }
    }

    /// Applies the insertion of a run of objects that are all below `owner`, at any depth.
    func take(inserted ids: ClosedRange<Int64>, below owner: ObjectID) {
        // The run contains the root itself: only some of the other objects are below it.
        if ids.contains(self.key.root.rawValue) { return self.lose() }
        guard !self.isLost, self.isAbove(owner) else { return }
        self.members.insert(ids)
    }

    /// Applies a prepared write, before its topmost objects are taken one by one. `isDeletion`: whether it has deleted
    /// the objects; otherwise it has inserted them.
    func take(prepared ids: IDRuns, isDeletion: Bool) {
        // Only some of the other objects are below the root.
        if ids.contains(self.key.root) { return self.lose() }
        if isDeletion, !self.isLost { for run in ids.runs { self.members.remove(run) } }
    }

    /// Applies a new position of an object among the children of the same owner.
    func take(repositioned id: ObjectID, below owner: ObjectID) {
        // The reading may already be past the new position.
        guard let page, page.owner == owner else { return }
        self.take(id, wasThere: true, isThere: true, owner: owner)
    }

    /// Ends a request. Reads the objects that its changes brought into the scope if they are few.
    func endRequest() {
        if !self.awaited.isEmpty { self.awaited.removeAll() }
        guard !self.isLost, self.mark?.wasComplete ?? false, !self.isComplete else { return }
        self.following { () throws(StoreError) in
            self.groupRowsLeft -= try self.read(rowsMax: self.groupRowsLeft)
        }
    }

    /// Stops following the group: the members are read anew once it is durable.
    func lose() { self.isLost = true }

    private func following(_ body: () throws(StoreError) -> Void) {
        // A failed read here must not fail the request.
        do { try body() } catch { self.lose() }
    }

    /// Removes the members below an object that has left the scope.
    private func removeBelow(_ id: ObjectID) throws(StoreError) {
        var next = [id]
        while let id = next.popLast() {
            var position: Int64?
            repeat {
                guard self.groupRowsLeft > 0 else { return self.lose() }
                let page = try self.children.page(of: id, after: position, limit: Self.pageRows)
                self.groupRowsLeft -= page.count + 1
                for row in page where row.id != self.key.root && self.members.remove(row.id) { next.append(row.id) }
                position = page.count == Self.pageRows ? page.last?.position : nil
            } while position != nil
        }
    }
}
