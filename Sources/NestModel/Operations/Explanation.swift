/// How a server finds the rows of a request and keeps them current, and what that costs. Texts are for people.
public struct Explanation: Hashable, Sendable {
    /// A part of the request as the server understood it, such as `where` and `done == NO`.
    public struct Part: Hashable, Sendable {
        public var name: String
        public var text: String

        public init(_ name: String, _ text: String) {
            self.name = name
            self.text = text
        }
    }

    /// The changed objects for which the server updates the result.
    public enum Routing: UInt8, Sendable, CaseIterable {
        /// Objects that have, before or after the change, the value that all rows share.
        case value = 1
        /// Objects in a pair with the owner, and changed pairs.
        case pair = 2
        /// All objects of the table.
        case table = 3

        public var name: String {
            switch self {
            case .value: "value"
            case .pair: "pair"
            case .table: "table"
            }
        }
    }

    /// How the server finds the rows if there is no live result.
    public enum Reading: UInt8, Sendable, CaseIterable {
        /// The store returns the rows in their order.
        case ordered = 1
        /// The store returns the rows; the server sorts them.
        case sorted = 2
        /// The store returns candidates; the server checks each.
        case examined = 3

        public var name: String {
            switch self {
            case .ordered: "ordered"
            case .sorted: "sorted"
            case .examined: "examined"
            }
        }
    }

    /// A path to other objects. The server traces a change of these back to the affected rows.
    public struct Path: Hashable, Sendable {
        /// Such as `user.name`.
        public var text: String
        /// The tables whose changes are followed.
        public var tables: [String]

        public init(_ text: String, tables: [String]) {
            self.text = text
            self.tables = tables
        }
    }

    /// The set of objects below an object, which the server maintains.
    public struct Subtree: Hashable, Sendable {
        public var text: String
        /// The number of objects; `nil` if no live result uses the subtree.
        public var objects: Int?

        public init(_ text: String, objects: Int?) {
            self.text = text
            self.objects = objects
        }
    }

    /// The live result that serves all equal requests.
    public struct Live: Hashable, Sendable {
        public var rows: Int
        public var sections: Int
        /// The bytes that it takes, with its log of changes.
        public var bytes: Int
        /// The number of different projections that are sent.
        public var views: Int
        public var subscriptions: Int
        /// The number of objects that were evaluated for it since it was created.
        public var evaluations: Int
        /// The number of commits that changed it since it was created.
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
    /// The routing condition, such as `parent = 1`.
    public var route: String
    public var reading: Reading
    /// The query for the store, such as `Item where parent = 1`.
    public var candidates: String
    public var paths: [Path]
    public var subtrees: [Subtree]
    /// Whether the server can answer a resuming client from the journal, even after a restart.
    public var isInJournal: Bool
    /// `nil`: no client follows the request, or did a short while ago.
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
