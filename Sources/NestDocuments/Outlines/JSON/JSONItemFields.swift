extension JSONWriter {
    /// The members that say what an item is: the note, `extra` and attributes only when there are, the mark only when it is.
    mutating func item(_ row: OutlineRow, _ fields: OutlineFields) {
        self.field(fields.title, row.title)
        if let name = fields.note, let note = row.note { self.field(name, note) }
        if let name = fields.done, row.done { self.field(name, true) }
        for attribute in row.attributes {
            self.key(attribute.name)
            self.element(attribute.value)
        }
        guard let extra = row.extra else { return }
        self.key("extra")
        // As the object that it is, if that is read back as the same text.
        if let object = OutlineExtra(extra), object.text == extra {
            self.element(.object(object.members))
        } else {
            self.string(extra)
        }
    }
}
