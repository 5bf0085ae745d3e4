import type { ReactNode } from 'react';

export interface Column<Row> {
  key: string;
  title: string;
  render(row: Row): ReactNode;
  /** Numbers stand right. */
  right?: boolean;
  className?: string;
}

interface DataTableProps<Row> {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf(row: Row): string | number;
  rowClass?(row: Row): string | undefined;
  /** For the mouse only: the same has to be in a cell as a link or button. */
  onRowClick?(row: Row): void;
  /** Rows of an earlier question, while the next answer is on its way. */
  stale?: boolean;
}

/** A plain table; on a phone each row becomes a card. */
export function DataTable<Row>({ label, columns, rows, keyOf, rowClass, onRowClick, stale }: DataTableProps<Row>) {
  return (
    <table className="table" aria-label={label} aria-busy={stale} data-stale={stale || undefined}>
      <thead>
        <tr>
          {columns.map(({ key, title, right }) => (
            <th key={key} scope="col" className={right ? 'right' : undefined}>
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr
            key={keyOf(row)}
            className={[rowClass?.(row), onRowClick && 'clickable'].filter(Boolean).join(' ') || undefined}
            onClick={(event) => {
              const inControl = (event.target as Element).closest('a, button, input, label');
              if (!inControl && getSelection()?.isCollapsed !== false) onRowClick?.(row);
            }}
          >
            {columns.map(({ key, title, render, right, className }) => (
              <td key={key} data-label={title} className={[right && 'right', className].filter(Boolean).join(' ')}>
                {render(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
