import NestModel
import NestStore
import NestSchema

/// The members of one token scope: all objects below its root, so that a request's scope is found by a look-up.
///
/// The members are read from the root down, a slice at a time. Each change is taken in as it is made, also while
/// reading: what comes below a member becomes one, and if objects may be below it that are not known, they are read
/// too. So every object of the scope is at all times a member, or below an unread member; and every member is in the
/// scope.
///
/// The changes of a group are taken in request by request, and taken back when the group is rolled back.
final class ScopeMembers: SubtreeMembership {
    let key: SubtreeKey
    private let objects: ObjectReader
    private let children: ChildReader
    private(set) var members = ObjectBitmap()
    /// Whether the root is there; `nil`: not looked up yet.
    private var hasRoot: Bool?
    /// Members, or the root, with objects below them that are not known yet. The last is read next.
    private var unread: [ObjectID]
    /// The one that is being read, and the position of the last object below it that was read.
    private var page: (owner: ObjectID, position: Int64?)?

    // MARK: Of an open group

    private struct Mark {
        let wasComplete: Bool
        let unreadCount: Int
        let hasRoot: Bool?
    }
    private var mark: Mark?
    /// Rows that the group may still read; after that the members are read anew, between the commits.
    private var groupRowsLeft = 0
    /// The group has changed more than was followed.
    private var isLost = false
    /// Objects that were no members when the changes at hand put others below them.
    private var awaited = ObjectBitmap()
    /// The request at hand changes one object only: none is awaited.
    private var isAlone = false

    private static let pageRows = 256

    init(_ key: SubtreeKey, _ objects: ObjectReader) {
        self.key = key
        self.objects = objects
        self.children = ChildReader(objects, key)
        self.unread = [key.root]
    }

    /// All members are known.
    var isComplete: Bool { !self.isLost && self.unread.isEmpty && self.page == nil && self.hasRoot != nil }
    var byteCount: Int { self.members.byteCount + self.unread.capacity * MemoryLayout<ObjectID>.stride }

    func contains(_ id: ObjectID) -> Bool? {
        if self.isLost { return nil }
        if id == self.key.root { return self.hasRoot }
        if self.members.contains(id) { return true }
        return self.isComplete ? false : nil
    }

    /// Objects below one member have been read in part.
    var isInMiddle: Bool { self.page != nil }

    private func isAbove(_ owner: ObjectID) -> Bool { owner == self.key.root || self.members.contains(owner) }

    // MARK: Reading

    /// Reads on. Returns the rows it took: objects, and one for each that it looked below.
    func read(rowsMax: Int) throws(StoreError) -> Int {
        if self.hasRoot == nil { self.hasRoot = try self.objects.exists(self.key.root, self.key.table, self.key.slot) }
        var rows = 0
        while rows < rowsMax, let next = self.page ?? self.unread.last.map({ (owner: $0, position: nil) }) {
            rows += try self.readPage(of: next.owner, after: next.position, limit: min(Self.pageRows, rowsMax - rows))
        }
        return rows
    }

    private func readPage(of owner: ObjectID, after position: Int64?, limit: Int) throws(StoreError) -> Int {
        // An object that has left since has nothing in the scope below it.
        let page = self.isAbove(owner) ? try self.children.page(of: owner, after: position, limit: limit) : []
        if self.page == nil { self.unread.removeLast() }
        self.page = page.count == limit ? page.last.map { (owner, $0.position) } : nil
        for row in page where row.id != self.key.root && self.members.insert(row.id) { self.unread.append(row.id) }
        return page.count + 1
    }

    // MARK: Changes

    /// A group begins. It may have `rowsMax` rows read to follow its changes.
    func beginGroup(rowsMax: Int) {
        self.mark = Mark(wasComplete: self.isComplete, unreadCount: self.unread.count, hasRoot: self.hasRoot)
        self.groupRowsLeft = rowsMax
        self.members.beginLog()
    }

    /// The group is durable.
    func endGroup() {
        self.mark = nil
        self.members.endLog()
        guard self.isLost else { return }
        self.isLost = false
        self.members.removeAll()
        (self.hasRoot, self.unread, self.page) = (nil, [self.key.root], nil)
    }

    /// The group is rolled back: what it did is forgotten.
    func rollBackGroup() {
        guard let mark else { return }
        self.mark = nil
        self.isLost = false
        self.members.rollBack()
        self.hasRoot = mark.hasRoot
        // A group that begins in the middle of reading only adds to what is unread.
        self.unread.removeSubrange(mark.unreadCount...)
        if mark.wasComplete { self.page = nil }
    }

    /// The changes of a request follow. `isAlone`: it has changed one object.
    func beginRequest(isAlone: Bool) { self.isAlone = isAlone }

    /// An object of the table has changed, in any order with the others that a request has changed. `owner`: the object
    /// that it is below now, `nil` also for a deleted one. The store has all changes of the request.
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

    /// A run of new objects has been put below one, all of them.
    func take(inserted ids: ClosedRange<Int64>, below owner: ObjectID) {
        // The root itself has come with others, of which only some are below it.
        if ids.contains(self.key.root.rawValue) { return self.lose() }
        guard !self.isLost, self.isAbove(owner) else { return }
        self.members.insert(ids)
    }

    /// An object has another position among those below the same one.
    func take(repositioned id: ObjectID, below owner: ObjectID) {
        // Reading may already be past its new position.
        guard let page, page.owner == owner else { return }
        self.take(id, wasThere: true, isThere: true, owner: owner)
    }

    /// All changes of a request have been taken. Reads what they brought in, when it is not much.
    func endRequest() {
        if !self.awaited.isEmpty { self.awaited.removeAll() }
        guard !self.isLost, self.mark?.wasComplete ?? false, !self.isComplete else { return }
        self.following { () throws(StoreError) in
            self.groupRowsLeft -= try self.read(rowsMax: self.groupRowsLeft)
        }
    }

    /// Gives up following the group: the members are read anew when it is durable.
    func lose() { self.isLost = true }

    private func following(_ body: () throws(StoreError) -> Void) {
        // A failure to read here must not become one of the request.
        do { try body() } catch { self.lose() }
    }

    /// What is below an object that has left is no member either.
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
