/// The totals of a result at a revision, in the order of the request's `totals`. They are values, never differences.
public struct TotalsUpdate: Hashable, Sendable {
    /// The totals of a section that is shown: of all its rows, also of those outside the window.
    public struct Section: Hashable, Sendable {
        /// The index of the section in the state that the totals belong to.
        public var index: Int
        public var values: [AttributeValue]

        public init(index: Int, values: [AttributeValue]) {
            self.index = index
            self.values = values
        }
    }

    public var revision: Revision
    /// The totals of all rows of the result.
    public var values: [AttributeValue]
    /// The sections whose totals have changed, ascending; with a snapshot, all.
    public var sections: [Section]

    public init(revision: Revision, values: [AttributeValue], sections: [Section] = []) {
        self.revision = revision
        self.values = values
        self.sections = sections
    }
}

extension SectionedSnapshot {
    /// Sets the totals of the state and of the sections that an update lists. Returns `false`, and changes nothing, if
    /// the state does not have one of these sections.
    public mutating func apply(_ totals: TotalsUpdate) -> Bool {
        guard totals.sections.allSatisfy({ self.sections.indices.contains($0.index) }) else { return false }
        self.totals = totals.values
        for section in totals.sections { self.sections[section.index].totals = section.values }
        return true
    }
}
