/// How a server finds the rows of a request and keeps them exact, and what that costs. Texts are for people.
public struct Explanation: Hashable, Sendable {
    /// A part of the request as the server has understood it, like `where` and `done == NO`.
    public struct Part: Hashable, Sendable {
        public var name: String
        public var text: String

        public init(_ name: String, _ text: String) {
            self.name = name
            self.text = text
        }
    }

    /// Which changed objects the result is looked at for.
    public enum Routing: UInt8, Sendable, CaseIterable {
        /// Those that have a value which all rows have, before or after.
        case value = 1
        /// Those in a pair with the owner, and pairs that change.
        case pair = 2
        /// Every one of the table.
        case table = 3

        public var name: String {
            switch self {
            case .value: "value"
            case .pair: "pair"
            case .table: "table"
            }
        }
    }

    /// How its rows are found when there is no live result.
    public enum Reading: UInt8, Sendable, CaseIterable {
        /// The store gives the rows in their order.
        case ordered = 1
        /// The store gives the rows; they are sorted afterwards.
        case sorted = 2
        /// The store gives objects that may be rows; each is looked at.
        case examined = 3

        public var name: String {
            switch self {
            case .ordered: "ordered"
            case .sorted: "sorted"
            case .examined: "examined"
            }
        }
    }

    /// What is read of other objects: a change of one is followed back to the rows that it concerns.
    public struct Path: Hashable, Sendable {
        /// Like `user.name`.
        public var text: String
        /// Whose changes are followed.
        public var tables: [String]

        public init(_ text: String, tables: [String]) {
            self.text = text
            self.tables = tables
        }
    }

    /// The objects below one, which are kept as a set.
    public struct Subtree: Hashable, Sendable {
        public var text: String
        /// `nil` while no live result asks for it.
        public var objects: Int?

        public init(_ text: String, objects: Int?) {
            self.text = text
            self.objects = objects
        }
    }

    /// Of the live result that serves everyone who asks the same.
    public struct Live: Hashable, Sendable {
        public var rows: Int
        public var sections: Int
        /// That it takes, with its log of changes.
        public var bytes: Int
        /// Different projections of it that are sent.
        public var views: Int
        public var subscriptions: Int
        /// Objects that it was looked at for, since it is there.
        public var evaluations: Int
        /// Commits that changed it, since it is there.
        public var changes: Int

        public init(
            rows: Int,
            sections: Int,
            bytes: Int,
            views: Int,
            subscriptions: Int,
            evaluations: Int,
            changes: Int
        ) {
            self.rows = rows
            self.sections = sections
            self.bytes = bytes
            self.views = views
            self.subscriptions = subscriptions
            self.evaluations = evaluations
            self.changes = changes
        }
    }

    public var revision: Revision
    public var request: [Part]
    public var routing: Routing
    /// What the routing goes by, like `parent = 1`.
    public var route: String
    public var reading: Reading
    /// What the store is asked for, like `Item where parent = 1`.
    public var candidates: String
    public var paths: [Path]
    public var subtrees: [Subtree]
    /// A client that returns can be answered from the journal, also after a restart.
    public var isInJournal: Bool
    /// `nil`: nobody follows the request, and nobody did a short while ago.
    public var live: Live?

    public init(
        revision: Revision,
        request: [Part],
        routing: Routing,
        route: String,
        reading: Reading,
        candidates: String,
        paths: [Path] = [],
        subtrees: [Subtree] = [],
        isInJournal: Bool,
        live: Live? = nil
    ) {
        self.revision = revision
        self.request = request
        self.routing = routing
        self.route = route
        self.reading = reading
        self.candidates = candidates
        self.paths = paths
        self.subtrees = subtrees
        self.isInJournal = isInJournal
        self.live = live
    }
}
