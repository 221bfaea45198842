//! The cells of one column of a row group, in the form required by Parquet's encoders.

/// The existing values, concatenated.
pub(super) enum Values {
    /// 32 bits.
    Four(Vec<i32>),
    /// 64 bits.
    Eight(Vec<i64>),
    /// Indexes of names.
    Names(Vec<u32>),
    /// The same number in every row, of 64 bits.
    Same(i64),
    /// The column's only name in every row, or no name in any.
    SameName,
}

/// The data of one column until its row group is written.
pub(super) struct Cells {
    pub(super) values: Values,
    /// Definition levels of Parquet: 1 for a row with a value, else 0. None if every row has a
    /// value.
    pub(super) levels: Option<Vec<i16>>,
}

/// A type of value that a cell can hold.
pub(super) trait Cell: Copy {
    /// Appends the values that `read` returns for `rows`.
    fn append<R>(cells: &mut Cells, rows: &[R], read: impl Fn(&R) -> Option<Self>);
}

impl Cell for u64 {
    fn append<R>(cells: &mut Cells, rows: &[R], read: impl Fn(&R) -> Option<Self>) {
        match &mut cells.values {
            // The width of a column fits its values; a reader interprets the bits as unsigned.
            Values::Four(to) => {
                put(to, &mut cells.levels, rows, |r| read(r).map(|n| (n as u32).cast_signed()))
            }
            Values::Eight(to) => {
                put(to, &mut cells.levels, rows, |r| read(r).map(u64::cast_signed))
            }
            Values::Names(_) | Values::Same(_) | Values::SameName => {
                debug_assert!(
                    false,
                    "a column of names or of the run's own facts holds no numbers of records"
                );
            }
        }
    }
}

impl Cell for u32 {
    fn append<R>(cells: &mut Cells, rows: &[R], read: impl Fn(&R) -> Option<Self>) {
        match &mut cells.values {
            Values::Names(to) => put(to, &mut cells.levels, rows, read),
            Values::Four(_) | Values::Eight(_) | Values::Same(_) | Values::SameName => {
                debug_assert!(
                    false,
                    "a column of numbers or of the run's own facts holds no names of records"
                );
            }
        }
    }
}

/// Appends the values that `read` returns for `rows`, without a branch per cell.
fn put<R, T: Copy + Default>(
    to: &mut Vec<T>,
    levels: &mut Option<Vec<i16>>,
    rows: &[R],
    read: impl Fn(&R) -> Option<T>,
) {
    let Some(levels) = levels else {
        to.extend(rows.iter().map(|row| read(row).unwrap_or_default()));
        return;
    };
    let mut next = to.len();
    to.resize(next + rows.len(), T::default());
    for row in rows {
        let value = read(row);
        to[next] = value.unwrap_or_default();
        next += usize::from(value.is_some());
        levels.push(value.is_some().into());
    }
    to.truncate(next);
}

impl Cells {
    /// An empty column of the kind of `values`; `optional` if rows may lack a value.
    pub(super) fn new(values: Values, optional: bool) -> Self {
        Self { values, levels: optional.then(Vec::new) }
    }

    /// Appends the values that `read` returns for `rows`.
    pub(super) fn append<R, T: Cell>(&mut self, rows: &[R], read: impl Fn(&R) -> Option<T>) {
        T::append(self, rows, read);
    }

    /// Removes the values but keeps the memory.
    pub(super) fn clear(&mut self) {
        match &mut self.values {
            Values::Four(values) => values.clear(),
            Values::Eight(values) => values.clear(),
            Values::Names(values) => values.clear(),
            Values::Same(_) | Values::SameName => {}
        }
        if let Some(levels) = &mut self.levels {
            levels.clear();
        }
    }
}
