import type { Geometry, Point } from '#index/geo/geometry.ts';
import { piecesOf } from '#index/geo/wkt.ts';

/** GeoJSON text (RFC 7946) of a geometry. */
export function geoJsonOf(geometry: Geometry): string {
  return JSON.stringify(objectOf(geometry));
}

function objectOf(geometry: Geometry): object {
  const { points, lines, polygons } = geometry;
  switch (geometry.kind) {
    case 'POINT':
      return { type: 'Point', coordinates: points[0] ? position(points[0]) : [] };
    case 'LINESTRING':
      return { type: 'LineString', coordinates: (lines[0] ?? []).map(position) };
    case 'POLYGON':
      return { type: 'Polygon', coordinates: (polygons[0] ?? []).map(path) };
    case 'MULTIPOINT':
      return { type: 'MultiPoint', coordinates: points.map(position) };
    case 'MULTILINESTRING':
      return { type: 'MultiLineString', coordinates: lines.map(path) };
    case 'MULTIPOLYGON':
      return { type: 'MultiPolygon', coordinates: polygons.map((rings) => rings.map(path)) };
    case 'GEOMETRYCOLLECTION':
      return { type: 'GeometryCollection', geometries: piecesOf(geometry).map(objectOf) };
  }
}

function position({ x, y }: Point): readonly number[] {
  return [x, y];
}

function path(points: readonly Point[]): readonly (readonly number[])[] {
  return points.map(position);
}
